#!/bin/sh
# An analyst: an export of a spreadsheet with ids, dates, words, gaps and decimal commas.
set -eu
printf 'id;admitted;ward;weight;note;came_back\n' > export.csv
awk -F, 'NR > 1 { weight = $10; gsub(/\./, ",", weight); print "V" NR ";" $1 ";" $2 ";" weight ";" ($5 == "" ? "n/a" : $5) ";" $15 }' \
  sample_data/visits.csv >> export.csv
# The first useful result.
dpsel select export.csv --target came_back --positive yes --k 1 --epsilon 1 --exclude id --decimal , --format names > names.txt
[ "$(cat names.txt)" = ward ]
# A typo costs nothing, and says what to do.
if dpsel select export.csv --target cameback --positive yes --k 1 --epsilon 1 2> error.txt; then exit 1; fi
grep -q "did you mean 'came_back'?" error.txt
