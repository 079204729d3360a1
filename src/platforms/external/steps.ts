import type { StepContext } from '../../engine/contexts.ts';
import type { Observation } from '../../engine/observation.ts';
import { done, fail, type Step } from '../../engine/step.ts';
import type { ExternalConfig } from './config.ts';

type ExternalStepContext = StepContext<ExternalConfig>;

/** The steps that follow prove that the node is a member of its cluster. They only read. */
export const provision: readonly Step<ExternalStepContext>[] = [
  {
    name: 'node-known',
    run: async ({ node: { address } }) =>
      address === undefined
        ? fail('NotAdopted', 'The platform external makes no nodes. Delete this Machine.')
        : done({ address }),
  },
];

export const release: readonly Step<ExternalStepContext>[] = [
  {
    /** Nothing is done to the node: it stays a member of its cluster. */
    name: 'node-kept',
    run: async () => done(),
  },
];

/** Whether the machine runs is not known. The node itself is asked when its cluster does not report it as Ready. */
export const observe = async (): Promise<Observation> => ({ exists: true, drift: [] });
