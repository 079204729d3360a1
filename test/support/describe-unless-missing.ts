import { describe, it } from 'vitest';

/** A group of tests that need something. Where it is missing, one skipped test with the sentence that says so stands for all. */
export function describeUnlessMissing(title: string, missing: string | undefined, body: () => void): void {
  if (missing) it(title, ({ skip }) => skip(missing));
  else describe(title, body);
}
