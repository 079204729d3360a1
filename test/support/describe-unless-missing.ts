import { describe, it } from 'vitest';

/**
 * A group of tests with a requirement. If it is missing, one skipped test with the sentence in `missing` represents the
 * group.
 */
export function describeUnlessMissing(title: string, missing: string | undefined, body: () => void): void {
  if (missing) it(title, ({ skip }) => skip(missing));
  else describe(title, body);
}
