# docker build --tag dpsel .
# docker run --rm --network none --volume "$PWD:/data:ro" dpsel select visits.csv --target y --k 5 --epsilon 1
FROM python:3.13-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY dpsel dpsel
RUN python -m venv /opt/dpsel && /opt/dpsel/bin/pip install --no-cache-dir .

FROM python:3.13-slim
COPY --from=build /opt/dpsel /opt/dpsel
RUN useradd --create-home --uid 10001 dpsel
ENV PATH="/opt/dpsel/bin:$PATH" PYTHONUNBUFFERED=1
USER 10001
WORKDIR /data
ENTRYPOINT ["dpsel"]
CMD ["--help"]
