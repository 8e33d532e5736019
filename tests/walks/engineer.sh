#!/bin/sh
# An engineer: a Makefile that cron starts, twice by mistake, and a pipe into jq.
set -eu
export DPSEL_LEDGER_FILE="$PWD/ledger.sqlite3" DPSEL_REQUIRE_LEDGER=1
dpsel budget init nightly --epsilon 2 > ledger.json
cat > Makefile <<'END'
record.json: sample_data/visits.csv
	dpsel select $< -t came_back --positive yes -k 3 -e 1 --ledger nightly --run-id may -q --force -o $@
END
# As cron would: no terminal, hardly any environment. The first useful result.
env -i PATH="$PATH" HOME="$HOME" DPSEL_LEDGER_FILE="$DPSEL_LEDGER_FILE" DPSEL_REQUIRE_LEDGER=1 make -s < /dev/null
cp record.json first.json
make -s --always-make
cmp first.json record.json
[ "$(dpsel budget show nightly | jq -r .spent.epsilon)" = 1 ]
cat sample_data/visits.csv | dpsel select - --input-format csv -t came_back --positive yes -k 3 -e 1 --ledger nightly -q \
  | jq -r '.selected_features[]' > names.txt
[ "$(tr '\n' ' ' < names.txt)" = "ward glucose earlier_visits " ]
# The budget is spent: exit code 4, and nothing is printed.
code=0
dpsel select sample_data/visits.csv -t came_back --positive yes -k 3 -e 1 --ledger nightly > more.json 2> error.txt || code=$?
[ "$code" = 4 ]
[ ! -s more.json ]
