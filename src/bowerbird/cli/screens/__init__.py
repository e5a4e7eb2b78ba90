"""What commands print: tables, amounts, files of lines."""
