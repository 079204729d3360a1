import { done, type Step, type StepOutcome, wait } from '../engine/step.ts';
import type { SecretString } from '../lib/secret-string.ts';
import { readMachineConfig } from './client/api-server-pod.ts';
import type { TalosClient } from './client/client.ts';
import type { TalosCallOptions } from './client/connection.ts';
import { listConfigChanges } from './config/compare/config-changes.ts';
import { callNode, describeNodeStatus, isClusterMember, type TalosStepContext } from './join-steps.ts';

/** The parts of the context that the update of a running node needs beside those of every step. */
export interface UpdateStepContext extends TalosStepContext {
  /** The configuration that the node is to have. */
  readonly configuration: SecretString;
  /** Why the node is not a healthy member of its cluster; undefined if it is. */
  findProblem(): Promise<string | undefined>;
}

const pollSeconds = 2;

/** The steps that give a running node its desired configuration without a reboot. */
export const updateSteps: readonly Step<UpdateStepContext>[] = [
  {
    /** Done when Talos has accepted the configuration. */
    name: 'configuration-applied',
    deadlineMinutes: 10,
    run: (context) =>
      callNode(context, async (client, options) => {
        if (!(await isConfigured(context, client, options)))
          await client.applyConfiguration(context.configuration, 'no-reboot', options);
        return done();
      }),
  },
  {
    /** Done when the configuration is active on the node. */
    name: 'configuration-active',
    deadlineMinutes: 10,
    run: (context) =>
      callNode(context, async (client, options) =>
        (await isConfigured(context, client, options))
          ? done()
          : wait(pollSeconds, 'Talos has not activated the configuration yet.'),
      ),
  },
  {
    /** Done when the node is a healthy member of its cluster. */
    name: 'node-healthy',
    deadlineMinutes: 10,
    run: (context) =>
      callNode(context, async (client, options): Promise<StepOutcome> => {
        const status = await client.machineStatus(options);
        if (!isClusterMember(status)) return wait(pollSeconds, describeNodeStatus(status));
        const problem = await context.findProblem();
        return problem === undefined ? done() : wait(pollSeconds, problem);
      }),
  },
];

const isConfigured = async (
  { configuration }: UpdateStepContext,
  client: TalosClient,
  options: TalosCallOptions,
): Promise<boolean> => listConfigChanges(await readMachineConfig(client, options), configuration).length === 0;
