"""What a run of `preprocess` will do, checked before any table is opened."""

from dpsel.errors import UsageError
from dpsel.preprocessing.options import (
    DEFAULT_CLIP,
    Center,
    Coding,
    Missing,
    Scale,
    ScalingMethod,
)
from dpsel.preprocessing.scaling import check_clip
from dpsel.records import frozen
from dpsel.selection.options import FeatureColumns
from dpsel.system.threads import plan_threads
from dpsel.tables.bounds_file import PublicBounds, given_bounds
from dpsel.tables.columns import Wanted
from dpsel.tables.formats import Reading
from dpsel.tables.labels import class_list


@frozen
class PreprocessRequest:
    """All choices of one run. Without `bounds`, which are public, the data decide the scaling."""

    wanted: Wanted
    positive: str | None
    encode: bool
    classes: tuple[str, ...] | None
    bounds: PublicBounds | None
    center: Center
    scale: Scale
    clip: float
    missing: Missing
    threads: int
    as_is: bool = False
    """Whether cells and labels are written unchanged."""

    @property
    def needs_medians(self) -> bool:
        """Return whether medians are needed."""
        by_median = self.center is Center.MEDIAN or self.scale is Scale.ROBUST
        return self.missing is Missing.MEDIAN or (self.bounds is None and by_median)

    @property
    def needs_statistics(self) -> bool:
        """Return whether any statistics of the columns are needed."""
        return not self.as_is and (self.bounds is None or self.missing is not Missing.ZERO)

    @property
    def scales_labels(self) -> bool:
        """Return whether coded labels are scaled by the data, which is so if features are."""
        by_data = self.center is not Center.NONE or self.scale is not Scale.NONE
        return self.wanted.labels and self.bounds is None and by_data

    def read_off_the_data(self) -> tuple[str, ...]:
        """Return, in words, what is read off the data."""
        found = []
        if self.encode and self.classes is None:
            found.append("the target's labels")
        if self.bounds is None:
            if self.center is not Center.NONE:
                found.append(f"each column's {self.center}")
            if self.scale is Scale.MAX_ABS:
                found.append("each column's largest value")
            if self.scale is Scale.ROBUST:
                found.append("each column's spread")
            if self.scales_labels and self.center is not Center.MEAN:
                found.append("the target's mean and largest value")
        if self.missing is not Missing.ZERO:
            found.append(f"the {self.missing} for missing cells")
        return tuple(found)


def make_preprocess_request(
    target: str,
    person: str | None,
    columns: FeatureColumns,
    coding: Coding,
    method: ScalingMethod,
    reading: Reading,
) -> PreprocessRequest:
    """Check everything that can be checked without the table."""
    encode = coding.encode_target or coding.classes is not None
    _refuse_contradictions(columns, coding, method, encode=encode)
    check_clip(method.clip)
    scale = Scale.NONE if method.as_is else method.scale or Scale.MAX_ABS
    center = Center.NONE if method.as_is else method.center or _default_center(scale)
    public = None if method.bounds is None else given_bounds(method.bounds)
    return PreprocessRequest(
        wanted=Wanted(
            target,
            columns.features,
            columns.exclude,
            labels=encode or columns.positive is not None or _keeps_labels(coding, method),
            person=person,
            declared=frozenset() if public is None else public.declared(target),
            bounded=public is not None,
        ),
        positive=columns.positive,
        encode=encode,
        classes=_classes(coding.classes),
        bounds=public,
        center=center,
        scale=scale,
        clip=method.clip,
        missing=method.missing,
        threads=plan_threads(reading.threads),
        as_is=method.as_is,
    )


def _refuse_contradictions(
    columns: FeatureColumns, coding: Coding, method: ScalingMethod, *, encode: bool
) -> None:
    """Refuse options that do not go together."""
    if method.as_is:
        _refuse_changes(columns, coding, method)
    elif coding.numeric_target:
        raise UsageError("--numeric-target goes with --as-is")
    if encode and columns.positive is not None:
        raise UsageError("give either --positive or --encode-target, not both")
    if method.bounds is not None and (method.center is not None or method.scale is not None):
        raise UsageError("--bounds says where the centre is; leave out --center and --scale")


def _refuse_changes(columns: FeatureColumns, coding: Coding, method: ScalingMethod) -> None:
    """Refuse options that say how cells are changed, because `--as-is` changes none."""
    if coding.encode_target or coding.classes is not None or columns.positive is not None:
        raise UsageError(
            "--as-is leaves labels as they are; name them in `dpsel select`, with --positive LABEL "
            "or --classes A,B,C"
        )
    given = {
        "--bounds": method.bounds is not None,
        "--center": method.center is not None,
        "--scale": method.scale is not None,
        "--clip": method.clip != DEFAULT_CLIP,
        "--missing": method.missing is not Missing.ZERO,
    }
    for flag, is_given in given.items():
        if is_given:
            raise UsageError(f"--as-is changes no cell; leave out {flag}")


def _keeps_labels(coding: Coding, method: ScalingMethod) -> bool:
    """Return whether the target's labels are written unchanged."""
    return method.as_is and not coding.numeric_target


def _classes(given: str | tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Return the labels that the user named, None if there are none."""
    if given is None:
        return None
    return class_list(given.split(",") if isinstance(given, str) else given)


def _default_center(scale: Scale) -> Center:
    """Return the default center for a scale."""
    return Center.MEDIAN if scale is Scale.ROBUST else Center.MEAN
