/** The API server's response to a request for a table. */
export interface PrintedTable {
  columnDefinitions: { name: string; priority?: number }[];
  rows: { cells: unknown[] }[];
}

/** A table in the format of `kubectl get`: columns and cells come from the API server. */
export function formatTable(table: PrintedTable): string {
  const columns = table.columnDefinitions
    .map(({ name, priority }, i) => ({ name: name.toUpperCase(), i, priority: priority ?? 0 }))
    .filter((column) => column.priority === 0);
  const lines = [
    columns.map((column) => column.name),
    ...table.rows.map((row) => columns.map((column) => String(row.cells[column.i] ?? ''))),
  ];
  const widths = columns.map((_, i) => Math.max(...lines.map((line) => (line[i] ?? '').length)));
  return lines
    .map((line) =>
      line
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('   ')
        .trimEnd(),
    )
    .join('\n');
}
