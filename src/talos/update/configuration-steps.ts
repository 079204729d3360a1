import { done, type Facts, returnToStep, type Step, type StepOutcome, wait } from '../../engine/step.ts';
import { ProviderError } from '../../lib/errors.ts';
import { SecretString } from '../../lib/secret-string.ts';
import type { TalosClient } from '../client/client.ts';
import type { TalosCallOptions } from '../client/connection.ts';
import { readOwnConfiguration } from '../client/own-configuration.ts';
import { resourceKinds } from '../client/resources.ts';
import { needsBoot } from '../config/compare/change-class.ts';
import { type ConfigChange, listConfigChanges } from '../config/compare/config-changes.ts';
import { callNode } from '../join-steps.ts';
import { isAtLeastMinor } from '../versions.ts';
import {
  applyStepName,
  firstUpdateStep,
  isUndisturbed,
  readFact,
  restartsComponents,
  type UpdateStepContext,
  updateFacts,
} from './update-context.ts';

const pollSeconds = 2;
const rebootPollSeconds = 3;

/** The configuration that the node boots with. Another one than the active one has been staged. */
async function readStoredConfig(
  client: TalosClient,
  active: SecretString,
  options: TalosCallOptions,
): Promise<SecretString> {
  const stored = (await client.findResource(resourceKinds.machineConfig, 'persistent', options))?.spec;
  return typeof stored === 'string' ? new SecretString(stored) : active;
}

const isSame = (present: SecretString, { desired }: UpdateStepContext): boolean =>
  listConfigChanges(present, desired.configuration).length === 0;

/** Done when Talos has stored the configuration. */
const applyStep: Step<UpdateStepContext> = {
  name: applyStepName,
  deadlineMinutes: 10,
  run: (context) =>
    callNode(context, async (client, options): Promise<StepOutcome> => {
      const { compared } = context;
      if (compared && (await applyLive(client, context, compared.changes, options))) return done();
      return await applyAsNeeded(client, context, options);
    }),
};

async function applyAsNeeded(
  client: TalosClient,
  context: UpdateStepContext,
  options: TalosCallOptions,
): Promise<StepOutcome> {
  const { desired, facts } = context;
  const active = await readOwnConfiguration(client, desired, options);
  if (isSame(active, context) && isSame(await readStoredConfig(client, active, options), context)) return done();
  if (await applyLive(client, context, listConfigChanges(active, desired.configuration), options)) return done();
  const mode = await chooseMode(client, context, active, options);
  if (mode === 'no-reboot') {
    await client.applyConfiguration(desired.configuration, 'no-reboot', options);
    return done();
  }
  if (facts[updateFacts.disrupts] !== true)
    return returnToStep(firstUpdateStep, 1, 'The node has to restart for its new configuration.');
  const bootId = await client.bootId(options);
  // Recorded before: afterwards nothing on the node shows that it has to restart.
  if (readFact(facts, updateFacts.staleBoot) !== bootId)
    return wait(1, 'The node gets a configuration for its next start.', { [updateFacts.staleBoot]: bootId });
  await client.applyConfiguration(desired.configuration, mode === 'staged' ? 'staged' : 'no-reboot', options);
  return done();
}

/**
 * Applies changes that are in force at once, without asking the node again whether they are: the first step has. False if
 * there are others, or if the node refuses: then it is asked.
 */
async function applyLive(
  client: TalosClient,
  { desired, facts }: UpdateStepContext,
  changes: readonly ConfigChange[],
  options: TalosCallOptions,
): Promise<boolean> {
  const isLive = changes.length > 0 && changes.every((change) => change.class === 'live');
  if (!isLive || facts[updateFacts.disrupts] !== false) return false;
  try {
    await client.applyConfiguration(desired.configuration, 'no-reboot', options);
    return true;
  } catch (error) {
    if (error instanceof ProviderError && error.code === 'TALOS_CONFIG_REFUSED') return false;
    throw error;
  }
}

/**
 * `live`: accepted at once, in force with the next boot. `staged`: not accepted by a running node before Talos 1.14,
 * where it has to be stored for the next boot.
 */
async function chooseMode(
  client: TalosClient,
  { desired }: UpdateStepContext,
  active: SecretString,
  options: TalosCallOptions,
): Promise<'no-reboot' | 'live' | 'staged'> {
  const changes = listConfigChanges(active, desired.configuration);
  const { version } = await client.version(options);
  if (isAtLeastMinor(version, '1.14')) return changes.some((one) => one.class === 'restart') ? 'live' : 'no-reboot';
  if ((await client.tryConfiguration(desired.configuration, options)) === 'reboot') return 'staged';
  return changes.some(({ field }) => needsBoot(field)) ? 'live' : 'no-reboot';
}

/** Done when the configuration is active on the node, after its restart if it needs one. */
const activeStep: Step<UpdateStepContext> = {
  name: 'configuration-active',
  deadlineMinutes: 20,
  readsOnly: isUndisturbed,
  run: (context) =>
    callNode(context, async (client, options): Promise<StepOutcome> => {
      const staleBoot = readFact(context.facts, updateFacts.staleBoot);
      if (staleBoot !== '' && staleBoot === (await client.bootId(options))) return await restartNode(client, options);
      const active = await readOwnConfiguration(client, context.desired, options);
      if (isSame(active, context)) return done(activeFacts(context));
      if (!isSame(await readStoredConfig(client, active, options), context))
        return returnToStep(applyStep.name, pollSeconds, 'The node does not have its new configuration.');
      return wait(pollSeconds, 'Talos has not activated the configuration yet.');
    }),
};

/** From then on Talos restarts the components that the configuration concerns. */
const activeFacts = ({ facts, clock }: UpdateStepContext): Facts =>
  restartsComponents(facts) ? { [updateFacts.activeSince]: clock.now().toISOString() } : {};

async function restartNode(client: TalosClient, options: TalosCallOptions): Promise<StepOutcome> {
  const { stage } = await client.machineStatus(options);
  if (stage !== 'running' && stage !== 'booting') return wait(rebootPollSeconds, `The node is ${stage}.`);
  try {
    await client.reboot('kernel', options);
  } catch (error) {
    // It restarts already.
    if (!(error instanceof ProviderError) || error.code !== 'TALOS_NOT_READY') throw error;
  }
  return wait(rebootPollSeconds, 'The node restarts with its new configuration.');
}

export const configurationSteps: readonly Step<UpdateStepContext>[] = [applyStep, activeStep];
