#!/bin/sh
# A privacy officer: a limit, a demand, a page to sign, and a look at what was done.
set -eu
export DPSEL_LEDGER_FILE="$PWD/ledger.sqlite3" DPSEL_REQUIRE_LEDGER=1
dpsel budget init study --epsilon 3 > ledger.json
# The first useful result.
dpsel select sample_data/visits.csv --target came_back --positive yes --k 3 --epsilon 1 --ledger study --output record.json --quiet
# Without a ledger nothing runs.
code=0
dpsel select sample_data/visits.csv --target came_back --positive yes --k 3 --epsilon 1 2> refused.txt || code=$?
[ "$code" = 2 ]
dpsel card record.json --ledger study --format html --output card.html
grep -q 'Release card' card.html
dpsel budget verify study > verified.txt
dpsel budget log study --format text > log.txt
grep -q came_back log.txt
dpsel audit --mechanism permute-and-flip --epsilon 1 --d 5 --k 2 --samples 20000 --quiet > certificate.json
[ "$(jq -r .verdict certificate.json)" = pass ]
