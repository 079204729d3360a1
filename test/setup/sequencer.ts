import type { TestSpecification } from 'vitest/node';
import { BaseSequencer } from 'vitest/node';

/** What takes minutes, so that nobody waits for it alone at the end. */
const long = [/e2e\/sweep\/(kills|faults|rolls)/, /e2e\/real-operator/, /e2e\/o(perator|idc)-/, /real\.test/];

const rank = ({ moduleId }: TestSpecification): number => {
  const index = long.findIndex((pattern) => pattern.test(moduleId));
  return index < 0 ? long.length : index;
};

/** The long ones first; the rest as vitest has it. */
export class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => rank(a) - rank(b));
  }
}
