import { beforeEach, describe } from 'vitest';

/** A group of tests that need something: where it is missing, each is skipped with the sentence that says so. */
export function describeWith(title: string, missing: string | undefined, body: () => void): void {
  describe(title, () => {
    beforeEach(({ skip }) => {
      if (missing) skip(missing);
    });
    body();
  });
}
