#!/bin/sh
# A geneticist: expression with a gene a row, and a file of labels.
set -eu
dpsel preprocess sample_data/arrays.csv arrays.parquet --features-in rows --labels sample_data/arrays_labels.csv --target tissue --as-is
# The first useful result.
dpsel select arrays.parquet --target tissue --positive tumor --k 3 --epsilon 5 --row-ranks --output genes.json
[ "$(jq -c .selected_features genes.json)" = '["gene132","gene174","gene250"]' ]
[ "$(jq .guarantee.end_to_end genes.json)" = true ]
