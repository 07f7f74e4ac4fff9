"""How a file or a table is read. Each module has one subject, and each part imports the parts below it in this list.

- The file: `sample_file` and `row_file` (the samples of a file, whatever its kind), `joining` (two files), `traces`, `aegis`.
- Its kind: `text_files`, `csv_rows`, `json_rows`, `excel_rows`, `arrow_rows`, `rankings`, `ranking_tables`,
  `faulty_rows`.
- Recognition, once for a source: `recognition` asks `first_rows`, `schema_choice` (with `header_keys`, `headers`, `formats`,
  `services`), `field_forms`, `column_proposals` (with `unread_lists`), `row_refusals` (with `passage_lists`, `several_runs`) and `plan_notes`. It makes a
  plan.
- A row: `row_plan` reads usual rows by the plan, `row_reading` any row with care. Both use `row_decisions` (what was decided),
  `field_locations`, `row_names` and `list_values` (with `list_cells`, `list_order`, `hit_order`, `hit_numbers`, `graded_ids`,
  `cell_values`).
"""
