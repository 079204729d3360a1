/** What was measured, for people: `MEASURE=1` prints it. */
export function printMeasurement(what: string, figures: object): void {
  if (process.env['MEASURE']) process.stdout.write(`${what}: ${JSON.stringify(figures)}\n`);
}
