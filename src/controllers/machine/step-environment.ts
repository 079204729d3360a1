import type { Machine } from '../../api/machine.ts';
import { annotations, clusterSecretsName } from '../../api/names.ts';
import { findPlatformSection, type ProviderConfigSpec } from '../../api/provider-config-spec.ts';
import type { AddressClaim } from '../../engine/address-claim.ts';
import type { HardwareComparison } from '../../engine/capabilities/hardware.ts';
import type { NodeHardware, NodeSpec, Owner } from '../../engine/node.ts';
import type { Platform } from '../../engine/platform.ts';
import type { Facts } from '../../engine/step.ts';
import { ProviderError } from '../../lib/errors.ts';
import { shortHash } from '../../lib/hash.ts';
import type { Log } from '../../lib/log.ts';
import { LruMap } from '../../lib/lru-map.ts';
import type { SecretString, SecretStrings } from '../../lib/secret-string.ts';
import { createClusterNodeClient } from '../../talos/client/cluster-node-client.ts';
import { type MachineConfigInput, renderMachineConfig } from '../../talos/config/machine-config.ts';
import { ensureSchematic } from '../../talos/image-factory/client.ts';
import type { TalosStepContext } from '../../talos/join-steps.ts';
import type { DesiredNode } from '../../talos/update/update-context.ts';
import { clusterOfMachine } from '../cluster/identity.ts';
import { findCluster } from '../cluster/ownership.ts';
import { findSecretsState } from '../cluster/view.ts';
import { toOidcTrust } from '../rollout/oidc-trust/trust-record.ts';
import { addressHolder } from '../shared/addresses/address-leases.ts';
import { toAssignedAddress } from '../shared/addresses/assigned-address.ts';
import { reservedAddresses } from '../shared/addresses/fixed-endpoints.ts';
import { inheritedMetadata } from '../shared/objects.ts';
import type { ClusterSecrets } from '../shared/secrets/cluster-secrets.ts';
import { requireClusterSecrets } from '../shared/secrets/cluster-secrets-state.ts';
import { diskKeyOf } from '../shared/secrets/disk-keys.ts';
import { findPlatformCredentials } from '../shared/secrets/platform-credentials.ts';
import type { Services } from '../shared/services.ts';
import { resolveDesiredSpec, type SpecRejection } from '../shared/spec/desired-spec.ts';
import { parseSpec } from '../shared/spec/parse-spec.ts';
import { hashConfigSources } from './configuration/hash-config-sources.ts';
import { describeNodeConfig } from './node-config.ts';
import type { MachineTask } from './reconcile/machine-task.ts';
import { schematicIdsOf } from './schematic-ids.ts';

/** Everything that the steps of one Machine use, prepared once for each reconcile. */
export interface StepEnvironment {
  readonly platform: Platform;
  /** The ProviderConfig merged with the ClusterConfigs of the Cluster. */
  readonly spec: ProviderConfigSpec;
  context(facts: Facts): TalosStepContext;
  /** Describes what the node is to be now. Undefined if its platform does not support that. */
  desiredNode?(facts: Facts): Promise<DesiredNode>;
  /** Undefined if its platform cannot change the hardware of a machine. */
  compareHardware?(facts: Facts): Promise<HardwareComparison>;
}

interface StepEnvironmentInput {
  readonly services: Services;
  readonly machine: Machine;
  readonly spec: ProviderConfigSpec;
  /** Why the spec differs from the one that the Cluster asks for. */
  readonly configMismatch: SpecRejection | undefined;
  readonly signal: AbortSignal;
  readonly log: Log;
}

/** Throws a ProviderError that names the missing prerequisite. */
export function prepareStepEnvironment({ services, machine, context: reconcile, nodes }: MachineTask): StepEnvironment {
  const { signal, log } = reconcile;
  const { spec, configMismatch: mismatch } = readDesiredSpec(services, machine);
  const chosen = findPlatformSection(spec);
  const platform = services.platforms.find((candidate) => candidate.name === machine.spec.platform);
  if (!platform || chosen?.name !== platform.name) {
    throw new ProviderError(
      'CONFIG_INVALID',
      `ProviderConfig ${machine.spec.providerConfigRef.name} no longer has the section ${machine.spec.platform}. Restore it.`,
    );
  }
  const credentials = readCredentials(services, machine, platform, chosen.section);
  const material: StepEnvironmentInput = { services, machine, spec, configMismatch: mismatch, signal, log };
  const context = (facts: Facts): TalosStepContext => ({
    config: chosen.section,
    credentials,
    owner: ownerOf(services, machine),
    isImported: services.isImported ?? false,
    node: describeNode(machine, spec),
    facts,
    addresses: machineAddresses(material),
    hosts: services.hosts.of(machine, signal),
    diskKey: diskKeyOf(services, machine.metadata.name, signal, clusterOfMachine(machine)),
    connections: services.connections,
    machineConfig: async (hardware) => renderConfigOf(material, hardware, await registerSchematic(material)),
    maintenance: (address) => services.targets.unconfigured(clusterOfMachine(machine), address, signal),
    ownNode: (address) => createClusterNodeClient(() => nodes.open(address), signal),
    openTalos: (address) => nodes.open(address),
    log,
    clock: services.clock,
    signal,
  });
  const { reconfigure, hardware } = platform;
  if (!reconfigure) return { platform, spec, context };
  const desiredNode = async (facts: Facts): Promise<DesiredNode> => {
    const ofConfig = await reconfigure.hardware(context(facts));
    const schematic = await schematicIdsOf(services).get(spec.talos, () => registerSchematic(material));
    const machineHardware = hardware?.describe(context(facts));
    return describeDesiredNode(material, { hardware: ofConfig, schematic, machine: machineHardware });
  };
  const compared = hardware && { compareHardware: (facts: Facts) => hardware.compare(context(facts)) };
  return { platform, spec, context, desiredNode, ...compared };
}

const ownerOf = ({ installation, provider }: Services, { metadata, spec }: Machine): Owner => ({
  ...{ installation, provider, machine: metadata.name, cluster: spec.clusterRef.uid },
});

/** An invalid ClusterConfig does not block a provisioned Machine or a Machine in deletion. */
function readDesiredSpec(services: Services, machine: Machine): Pick<StepEnvironmentInput, 'spec' | 'configMismatch'> {
  const { name } = machine.spec.providerConfigRef;
  const config = services.stores.providerConfigs.get({ name });
  if (!config)
    throw new ProviderError(
      'PROVIDER_CONFIG_MISSING',
      `ProviderConfig ${name} does not exist. Create it again: it is required to create and to delete the machine. If the machine is permanently lost, set the annotation ${annotations.failureDomainLost}: "true" on the Machine, and delete it.`,
    );
  const parsed = parseSpec(config);
  if (!parsed.success)
    throw new ProviderError('CONFIG_INVALID', `ProviderConfig ${name} is not valid; see its conditions.`);
  const desired = resolveDesiredSpec(services, config, findCluster(services.stores, clusterOfMachine(machine)));
  if (desired && 'spec' in desired) return { spec: desired.spec, configMismatch: undefined };
  return { spec: parsed.data, configMismatch: desired?.refused };
}

function readCredentials(services: Services, machine: Machine, platform: Platform, section: unknown): SecretStrings {
  // Only this provider writes facts.
  const facts = (machine.status?.progress?.facts ?? {}) as Facts;
  const found = findPlatformCredentials(services, platform, section, {
    failureDomain: machine.spec.failureDomain,
    facts,
  });
  if ('missing' in found) throw new ProviderError('CREDENTIALS_MISSING', found.missing);
  return found.secrets;
}

function describeNode(machine: Machine, spec: ProviderConfigSpec): NodeSpec {
  return {
    name: machine.metadata.name,
    role: machine.spec.role,
    pool: machine.spec.pool,
    size: machine.spec.size,
    failureDomain: machine.spec.failureDomain,
    address: machine.spec.address,
    cluster: clusterOfMachine(machine),
    talos: {
      version: machine.spec.talosVersion,
      schematic: { extensions: spec.talos.extensions, kernelArguments: spec.talos.kernelArguments },
      factoryUrl: spec.talos.factoryUrl,
    },
    // Labels come first, because a platform may limit the number of labels.
    labels: { ...inheritedMetadata(machine.metadata.labels), ...inheritedMetadata(machine.metadata.annotations) },
  };
}

function machineAddresses({ services, machine, spec, signal }: StepEnvironmentInput): AddressClaim {
  const holder = addressHolder.machine(machine.metadata.name, clusterOfMachine(machine));
  return {
    claim: async (madeOn) => {
      const { addressPool, prefix } = spec.network;
      if (!addressPool || prefix === undefined)
        throw new ProviderError('CONFIG_INVALID', 'network.addressPool and network.prefix are required. Restore them.');
      const address = await services.addresses.claim(holder, addressPool, reservedAddresses(services), signal, madeOn);
      return toAssignedAddress(address, spec.network, prefix);
    },
    release: () => services.addresses.release(holder, signal),
  };
}

/** Never returns the secrets of another cluster: only erasing a machine undoes its configuration. */
function clusterSecretsOf(services: Services, machine: Machine): ClusterSecrets {
  const ref = clusterOfMachine(machine);
  const place = `${services.namespace}/${clusterSecretsName(ref)}`;
  return requireClusterSecrets(findSecretsState(services, ref) ?? { kind: 'none' }, place);
}

const registerSchematic = async ({ spec, signal, log }: StepEnvironmentInput): Promise<string> => {
  const { factoryUrl, extensions, kernelArguments } = spec.talos;
  return await ensureSchematic(factoryUrl, { extensions, kernelArguments }, { signal, log });
};

const renderConfigOf = (material: StepEnvironmentInput, hardware: NodeHardware, schematicId: string): SecretString =>
  renderMachineConfig(configInputOf(material, hardware, schematicId));

function configInputOf(
  { services, machine, spec, configMismatch: mismatch }: StepEnvironmentInput,
  hardware: NodeHardware,
  schematicId: string,
): MachineConfigInput {
  if (mismatch) throw new ProviderError('CONFIG_INVALID', mismatch.message);
  const { bundle, endpoint: ofNode, trust: record } = clusterSecretsOf(services, machine);
  const endpoint = machine.spec.endpoint ?? ofNode;
  if (endpoint === undefined) throw new ProviderError('ENDPOINT_UNKNOWN');
  const trust = toOidcTrust(record?.entries ?? []);
  const { name } = machine.metadata;
  return describeNodeConfig({ spec, name, machine: machine.spec, endpoint, hardware, schematicId, bundle, trust });
}

/** `machine`: describes the hardware that the machine is to get, if its platform can change it. */
interface NodeParts {
  readonly hardware: NodeHardware;
  readonly schematic: string;
  readonly machine: string | undefined;
}

/** A node that is being changed is looked at every few seconds, and to write its configuration takes milliseconds. */
const recentNodes = new LruMap<string, DesiredNode>(16);

function describeDesiredNode(material: StepEnvironmentInput, parts: NodeParts): DesiredNode {
  const key = hashConfigSources(material, material.spec, { mismatch: material.configMismatch?.message, parts });
  return recentNodes.getOrAdd(key, () => renderDesiredNode(material, parts));
}

function renderDesiredNode(material: StepEnvironmentInput, { hardware, schematic, machine }: NodeParts): DesiredNode {
  const input = configInputOf(material, hardware, schematic);
  const configuration = renderMachineConfig(input);
  const { providerId } = hardware;
  const { talosVersion, kubernetesVersion, installerImage: installer } = input;
  const revision = hashDesired(configuration, machine);
  return { providerId, configuration, revision, talosVersion, schematic, installer, kubernetesVersion };
}

/** The configuration contains keys with high entropy, so that nothing can be concluded from its hash. */
const hashDesired = (configuration: SecretString, hardware = ''): string =>
  shortHash(`${configuration.reveal()}${hardware}`);
