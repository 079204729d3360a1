import type { Machine } from '../../api/machine.ts';
import { annotations, secretsName } from '../../api/names.ts';
import { type ProviderConfigSpec, platformOf } from '../../api/provider-config-spec.ts';
import type { Addresses } from '../../engine/addresses.ts';
import type { Facts, NodeHardware, NodeSpec, Owner, Platform } from '../../engine/platform.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import type { Secret, Secrets } from '../../lib/secret.ts';
import { ensureSchematic } from '../../talos/image-factory.ts';
import { renderMachineConfig } from '../../talos/machine-config.ts';
import { ownNode } from '../../talos/own-node.ts';
import type { TalosStepContext } from '../../talos/steps.ts';
import { addressHolder } from '../address-leases.ts';
import { clusterObject, clusterOf } from '../cluster/identity.ts';
import { secretsStateOf } from '../cluster/view.ts';
import type { ClusterSecrets } from '../cluster-secrets.ts';
import { findCredentials } from '../credentials.ts';
import { diskKeyOf } from '../disk-keys.ts';
import { reservedAddresses } from '../fixed-endpoints.ts';
import { givenAddress } from '../given-address.ts';
import { handedDown } from '../objects.ts';
import { usableSecrets } from '../secrets-state.ts';
import type { Services } from '../services.ts';
import { parseSpec } from '../spec/parse.ts';
import { type Refusal, wishOf } from '../spec/wish.ts';
import { toTrust } from '../trust/record.ts';
import { describeNodeConfig } from './node-config.ts';

/** All that the steps of one Machine work with, gathered once for a reconcile. */
export interface Workplace {
  readonly platform: Platform;
  context(facts: Facts): TalosStepContext;
}

interface Material {
  readonly services: Services;
  readonly machine: Machine;
  readonly spec: ProviderConfigSpec;
  /** Why the spec is not as the Cluster wishes it. */
  readonly misfit: Refusal | undefined;
  readonly signal: AbortSignal;
  readonly log: Log;
}

/** Gathers it, or throws a ProviderError that says what is missing. */
export function openWorkplace(services: Services, machine: Machine, signal: AbortSignal, log: Log): Workplace {
  const { spec, misfit } = readSpec(services, machine);
  const chosen = platformOf(spec);
  const platform = services.platforms.find((candidate) => candidate.name === machine.spec.platform);
  if (!platform || chosen?.name !== platform.name) {
    throw new ProviderError(
      'CONFIG_INVALID',
      `ProviderConfig ${machine.spec.providerConfigRef.name} has no section ${machine.spec.platform} any more. Put it back.`,
    );
  }
  const credentials = readCredentials(services, machine, platform, chosen.section);
  const material: Material = { services, machine, spec, misfit, signal, log };
  const context = (facts: Facts): TalosStepContext => ({
    config: chosen.section,
    credentials,
    owner: ownerOf(services, machine),
    node: describeNode(machine, spec),
    facts,
    addresses: addressesOf(material),
    hosts: services.hosts.of(machine, signal),
    diskKey: diskKeyOf(services, machine.metadata.name, signal, clusterOf(machine)),
    connections: services.connections,
    machineConfig: (hardware) => machineConfigOf(material, hardware),
    maintenance: (address) => services.targets.unconfigured(clusterOf(machine), address, signal),
    ownNode: (address) => ownNode(() => services.targets.talos(clusterOf(machine), address), signal),
    openTalos: (address) => services.targets.talos(clusterOf(machine), address),
    log,
    clock: services.clock,
    signal,
  });
  return { platform, context };
}

const ownerOf = ({ installation, provider }: Services, { metadata, spec }: Machine): Owner => ({
  ...{ installation, provider, machine: metadata.name, cluster: spec.clusterRef.uid },
});

/** What is wrong with a ClusterConfig is in nobody's way who runs, or is to be taken down. */
function readSpec(services: Services, machine: Machine): Pick<Material, 'spec' | 'misfit'> {
  const { name } = machine.spec.providerConfigRef;
  const config = services.stores.providerConfigs.get({ name });
  if (!config)
    throw new ProviderError(
      'PROVIDER_CONFIG_MISSING',
      `ProviderConfig ${name} does not exist. Create it again: without it the machine can neither be made nor taken down. If the machine is gone for good, say so with the annotation ${annotations.placeLost}: "true" on it, and delete it.`,
    );
  const parsed = parseSpec(config);
  if (!parsed.success)
    throw new ProviderError('CONFIG_INVALID', `ProviderConfig ${name} is not valid; its conditions say why.`);
  const wish = wishOf(services, config, clusterObject(services.stores, clusterOf(machine)));
  if (wish && 'spec' in wish) return { spec: wish.spec, misfit: undefined };
  return { spec: parsed.data, misfit: wish?.refused };
}

function readCredentials(services: Services, machine: Machine, platform: Platform, section: unknown): Secrets {
  // Written by us alone.
  const facts = (machine.status?.progress?.facts ?? {}) as Facts;
  const found = findCredentials(services, platform, section, { site: machine.spec.site, facts });
  if ('missing' in found) throw new ProviderError('CREDENTIALS_MISSING', found.missing);
  return found.secrets;
}

function describeNode(machine: Machine, spec: ProviderConfigSpec): NodeSpec {
  return {
    name: machine.metadata.name,
    role: machine.spec.role,
    pool: machine.spec.pool,
    size: machine.spec.size,
    site: machine.spec.site,
    cluster: clusterOf(machine),
    talos: {
      version: machine.spec.talosVersion,
      schematic: { extensions: spec.talos.extensions, kernelArguments: spec.talos.kernelArguments },
      factoryUrl: spec.talos.factoryUrl,
    },
    // Labels first: where there is little room, they are told.
    labels: { ...handedDown(machine.metadata.labels), ...handedDown(machine.metadata.annotations) },
  };
}

function addressesOf({ services, machine, spec, signal }: Material): Addresses {
  const holder = addressHolder.machine(machine.metadata.name, clusterOf(machine));
  return {
    claim: async (madeOn) => {
      const { addressPool, prefix } = spec.network;
      if (!addressPool || prefix === undefined)
        throw new ProviderError('CONFIG_INVALID', 'network.addressPool and network.prefix are needed. Put them back.');
      const address = await services.addresses.claim(holder, addressPool, reservedAddresses(services), signal, madeOn);
      return givenAddress(address, spec.network, prefix);
    },
    release: () => services.addresses.release(holder, signal),
  };
}

/** Never those of another cluster: what a machine is configured with can only be undone by erasing it. */
function secretsOf(services: Services, machine: Machine): ClusterSecrets {
  const ref = clusterOf(machine);
  const place = `${services.namespace}/${secretsName(ref)}`;
  return usableSecrets(secretsStateOf(services, ref) ?? { kind: 'none' }, place);
}

async function machineConfigOf(material: Material, hardware: NodeHardware): Promise<Secret> {
  const { services, machine, spec, misfit, signal, log } = material;
  if (misfit) throw new ProviderError('CONFIG_INVALID', misfit.message);
  const { bundle, endpoint: ofNode, trust: record } = secretsOf(services, machine);
  const endpoint = machine.spec.endpoint ?? ofNode;
  if (endpoint === undefined) throw new ProviderError('ENDPOINT_UNKNOWN');
  const { factoryUrl, extensions, kernelArguments } = spec.talos;
  const schematicId = await ensureSchematic(factoryUrl, { extensions, kernelArguments }, { signal, log });
  const trust = toTrust(record?.entries ?? []);
  const { name } = machine.metadata;
  const sources = { spec, name, machine: machine.spec, endpoint, hardware, schematicId, bundle, trust };
  return renderMachineConfig(describeNodeConfig(sources));
}
