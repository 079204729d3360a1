/** Prints measurements when `MEASURE=1` is set. */
export function printMeasurement(what: string, figures: object): void {
  if (process.env['MEASURE']) process.stdout.write(`${what}: ${JSON.stringify(figures)}\n`);
}
