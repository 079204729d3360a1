import { createHash } from 'node:crypto';
import { clusterSecretsName } from '../../../api/names.ts';
import type { ProviderConfigSpec } from '../../../api/provider-config-spec.ts';
import type { Progress } from '../../../engine/advance.ts';
import type { Facts } from '../../../engine/step.ts';
import { ProviderError } from '../../../lib/errors.ts';
import type { SecretString } from '../../../lib/secret-string.ts';
import { readMachineConfig } from '../../../talos/client/api-server-pod.ts';
import { type ConfigChange, listConfigChanges } from '../../../talos/config/compare/config-changes.ts';
import { clusterOfMachine } from '../../cluster/identity.ts';
import { findSecretsState } from '../../cluster/view.ts';
import { hashTrustRecord } from '../../rollout/oidc-trust/trust-record.ts';
import { hashSpec } from '../../rollout/spec-hash.ts';
import { isConfigAccepted } from '../is-config-accepted.ts';
import type { DesiredMachine } from '../reconcile/desired.ts';
import { upToDateMachinesOf } from './up-to-date-machines.ts';

/** The configuration of a running node, compared with its desired one. */
export interface ConfigurationState {
  readonly desired: SecretString;
  /** Hash of the spec that it was rendered from. */
  readonly spec: string;
  /** Identifies the desired state of the machine. */
  readonly revision: string;
  /** How the node's configuration differs. Empty: it has the desired one. */
  readonly changes: readonly ConfigChange[];
  /** The versions that differ. They are part of the Machine, so its desired configuration does not show them. */
  readonly upgrades: readonly ConfigChange[];
}

/**
 * Compares the configuration of a running node with the desired one. Undefined while that is not possible: the
 * ProviderConfig was not accepted, the OIDC trust of the control plane is being changed, or the node does not answer. Also
 * undefined while nothing has changed since the node was found up to date: that costs no call.
 */
export async function observeConfiguration(
  desired: DesiredMachine,
  { facts }: Progress,
): Promise<ConfigurationState | undefined> {
  const { services, machine, context, environment } = desired;
  if (environment instanceof ProviderError || !environment.configuration) return undefined;
  const { name } = machine.spec.providerConfigRef;
  if (!isConfigAccepted(services.stores.providerConfigs.get({ name })) || isTrustPending(desired)) return undefined;
  const known = upToDateMachinesOf(services);
  const inputs = hashInputs(desired, environment.spec, facts);
  if (known.has(machine, inputs)) return undefined;
  try {
    const configuration = await environment.configuration(facts);
    const revision = hashConfiguration(configuration);
    const isKnown = machine.status?.applied?.revision === revision;
    const changes = isKnown
      ? []
      : listConfigChanges(await readFromNode(desired, String(facts['address'])), configuration);
    const { spec } = environment;
    const upgrades = listUpgrades(desired, spec.talos.version);
    if (changes.length + upgrades.length === 0) known.add(machine, inputs);
    return { desired: configuration, spec: hashSpec(spec, services.release), revision, changes, upgrades };
  } catch (error) {
    context.signal.throwIfAborted();
    if (!(error instanceof ProviderError) || error.retry === 'bug') throw error;
    context.log.debug({ code: error.code, why: error.message }, 'configuration not compared');
    return undefined;
  }
}

/** The text contains keys with high entropy, so that nothing can be concluded from its hash. */
const hashConfiguration = (configuration: SecretString): string => shortHash(configuration.reveal());

const shortHash = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16);

const listUpgrades = ({ machine }: DesiredMachine, version: string): ConfigChange[] =>
  machine.spec.talosVersion === version ? [] : [{ field: 'talos.version', class: 'os' }];

/** Hash of everything that the desired configuration is rendered from. */
function hashInputs({ services, machine }: DesiredMachine, spec: ProviderConfigSpec, facts: Facts): string {
  const name = clusterSecretsName(clusterOfMachine(machine));
  const secrets = services.stores.secrets.get({ namespace: services.namespace, name });
  return shortHash(
    JSON.stringify([hashSpec(spec, services.release), machine.spec, secrets?.metadata.resourceVersion, facts]),
  );
}

async function readFromNode({ services, machine, context }: DesiredMachine, address: string): Promise<SecretString> {
  const node = services.targets.talos(clusterOfMachine(machine), address);
  try {
    return await readMachineConfig(node, context);
  } finally {
    await node.close();
  }
}

/** The rollout of OIDC trust edits the configuration in place, and may take the edit back. */
function isTrustPending({ services, machine }: DesiredMachine): boolean {
  if (machine.spec.role !== 'controlplane') return false;
  const state = findSecretsState(services, clusterOfMachine(machine));
  const record = state?.kind === 'usable' ? state.secrets.trust : undefined;
  return record !== undefined && machine.status?.trust !== hashTrustRecord(record);
}
