import { Machine } from '../../api/machine.ts';
import { annotations, clusterId, group, labels, openmcp, version } from '../../api/names.ts';
import type { ProviderConfigSpec } from '../../api/provider-config-spec.ts';
import { Namespace } from '../../kube/core-types.ts';
import { isAlreadyExists, KubeError } from '../../kube/errors.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import type { TalosClient } from '../../talos/api.ts';
import { authorityId } from '../../talos/machine-config.ts';
import { atLeast } from '../../talos/versions.ts';
import { ensureClusterSecrets, noteOnSecrets, readClusterSecrets } from '../cluster-secrets.ts';
import { handedDown } from '../objects.ts';
import type { Services } from '../services.ts';
import { choosePlatform } from '../spec/platform.ts';
import { type TrustRecord, writeTrust } from '../trust/record.ts';
import { rollTrust } from '../trust/roll.ts';
import { chooseSite } from './choose-site.ts';
import { ChosenSites } from './chosen-sites.ts';
import type { Decision } from './decide.ts';
import { findEndpoint } from './endpoint.ts';
import { leadEndpoint } from './lead.ts';
import { type ClusterView, factOf, type Proof, type Slot, wishedPrefix } from './view.ts';

interface Context {
  readonly signal: AbortSignal;
  readonly log: Log;
}

/** Does what was decided and returns a view in which it is done. */
export async function act(
  services: Services,
  view: ClusterView,
  decision: Decision,
  context: Context,
): Promise<ClusterView> {
  switch (decision.kind) {
    case 'create-secrets':
      return { ...view, secrets: await makeSecrets(services, view, decision.kubernetesVersion, context) };
    case 'find-endpoint':
      return { ...view, ...(await findEndpoint(services, view, context.signal)) };
    case 'create-machines':
      return {
        ...view,
        machines: [...view.machines, ...(await makeMachines(services, view, decision.slots, context))],
      };
    case 'bootstrap':
      return await bootstrap(services, view, decision.machine, context);
    case 'record-trust':
      return { ...view, secrets: await recordTrust(services, view, decision.record, context) };
    case 'roll-trust': {
      const roll = await rollTrust(services, view.ref, view.machines, decision.record, context);
      return { ...view, roll, machines: roll.machines };
    }
    case 'prove':
      return { ...view, proof: await prove(services, view, context) };
    case 'settled':
      return view;
  }
}

async function makeSecrets(
  services: Services,
  view: ClusterView,
  kubernetesVersion: string,
  context: Context,
): Promise<ClusterView['secrets']> {
  const { kube, namespace, provider, clock } = services;
  const nodePrefix = wishedPrefix(view);
  const wanted = { namespace, provider, cluster: view.ref, kubernetesVersion, nodePrefix, now: clock.now() };
  const secrets = await ensureClusterSecrets(kube, wanted, context.signal);
  context.log.info({ secret: secrets.object.metadata.name }, 'secrets of the cluster exist');
  return secrets;
}

async function recordTrust(
  { kube }: Services,
  { secrets, ref }: ClusterView,
  record: TrustRecord,
  { signal, log }: Context,
): Promise<ClusterView['secrets']> {
  if (!secrets) throw new ProviderError('INTERNAL', 'What a cluster trusts lies beside its secrets.');
  const object = await writeTrust(kube, secrets.object, record, signal);
  const issuers = record.entries.map(({ issuer }) => issuer);
  log.info(
    { cluster: `${ref.namespace}/${ref.name}`, issuers, complete: record.complete },
    'trusted OIDC issuers noted',
  );
  return readClusterSecrets(object);
}

async function makeMachines(
  services: Services,
  view: ClusterView,
  slots: readonly Slot[],
  context: Context,
): Promise<Machine[]> {
  const made: Machine[] = [];
  for (const slot of slots) {
    const placed = { ...slot, site: siteFor(services, view, slot, made) };
    const machine = describeMachine(services, view, placed);
    try {
      made.push(await services.kube.create(Machine, machine, context.signal));
      services.events.record(view.cluster, 'Normal', 'MachineCreated', `Machine ${slot.name} was created.`);
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      made.push(await services.kube.get(Machine, { name: slot.name }, context.signal));
    }
  }
  return made;
}

/** Where a machine goes, beside those that there are and those that were made a moment ago. */
function siteFor(
  { platforms, stores, connections, clock }: Services,
  { spec, config, machines }: ClusterView,
  { name, pool }: Slot,
  made: readonly Machine[],
): string | undefined {
  const chosen = spec && choosePlatform(platforms, spec);
  const names = chosen ? chosen.platform.sites.names(chosen.config) : [];
  if (names.length === 0) return undefined;
  const ofCluster = [...machines, ...made].map((machine) => machine.spec);
  const ours = config?.metadata.name ?? '';
  const known = stores.machines.list().map((machine) => machine.spec);
  const ofConfig = known.filter(({ providerConfigRef }) => providerConfigRef.name === ours);
  const book = connections.get('chosen-sites', () => new ChosenSites(clock));
  // Those of this Cluster that were made a moment ago are among them.
  const recent = book.unknown(
    ours,
    (machine) => machine === name || stores.machines.get({ name: machine }) !== undefined,
  );
  const site = chooseSite(names, pool, ofCluster, [...ofConfig, ...recent]);
  book.note(name, ours, { pool, site });
  return site;
}

function describeMachine(services: Services, view: ClusterView, slot: Slot): Machine {
  const { cluster, config, spec, endpoint, secrets } = view;
  if (!config || !spec || !endpoint || !secrets) throw new ProviderError('INTERNAL', 'Machines are made last.');
  return {
    apiVersion: `${group}/${version}`,
    kind: 'Machine',
    metadata: {
      name: slot.name,
      labels: {
        ...handedDown(cluster.metadata.labels),
        [labels.provider]: services.provider,
        [labels.cluster]: clusterId(view.ref),
        [labels.role]: slot.role,
        [labels.pool]: slot.pool,
      },
      annotations: {
        ...handedDown(cluster.metadata.annotations),
        [annotations.clusterNamespace]: view.ref.namespace,
        [annotations.clusterName]: view.ref.name,
      },
    },
    spec: {
      providerRef: { name: services.provider },
      providerConfigRef: { name: config.metadata.name },
      clusterRef: view.ref,
      platform: view.platform ?? '',
      role: slot.role,
      pool: slot.pool,
      slot: slot.slot,
      size: slot.size,
      ...(slot.site === undefined ? {} : { site: slot.site }),
      talosVersion: spec.talos.version,
      kubernetesVersion: secrets.kubernetesVersion ?? '',
      ...(endpoint.url === undefined ? {} : { endpoint: endpoint.url }),
      ...(endpoint.virtualAddress ? { virtualAddress: endpoint.virtualAddress } : {}),
      ...describeAuthorities(spec, slot),
    },
  };
}

/** Control planes before Talos 1.14 get the authorities of OIDC issuers with their first configuration, or never. */
function describeAuthorities({ access, talos }: ProviderConfigSpec, { role }: Slot): Partial<Machine['spec']> {
  if (role !== 'controlplane' || access.oidcIssuers.length === 0 || atLeast(talos.version, '1.14')) return {};
  return { issuerAuthorities: access.oidcIssuers.map(({ caBundle }) => authorityId(caBundle)) };
}

/**
 * Bootstraps etcd on the one machine, exactly once: the choice is written down before the call, later tries go to the
 * same machine, and only members seen in etcd count as done (a success of the call proves nothing: Talos was seen to
 * answer a second one with success as well).
 */
async function bootstrap(
  services: Services,
  view: ClusterView,
  machine: Machine,
  context: Context,
): Promise<ClusterView> {
  const address = factOf(machine, 'address');
  if (!view.secrets || !address)
    return { ...view, bootstrap: { done: false, message: `${machine.metadata.name} has no address yet.` } };
  const name = machine.metadata.name;
  const noted = view.secrets.bootstrapMachine
    ? view.secrets
    : await noteOnSecrets(services.kube, view.secrets, { [annotations.bootstrapMachine]: name }, context.signal);
  const talos = services.targets.talos(view.ref, address);
  try {
    const message = await tryBootstrap(talos, name, context.signal);
    if (message) return { ...view, secrets: noted, bootstrap: { done: false, message } };
  } finally {
    await talos.close();
  }
  const secrets = await noteOnSecrets(
    services.kube,
    noted,
    { [annotations.bootstrappedAt]: services.clock.now().toISOString() },
    context.signal,
  );
  services.events.record(view.cluster, 'Normal', 'Bootstrapped', `etcd was bootstrapped on ${name}.`);
  context.log.info({ machine: name }, 'etcd bootstrapped');
  return { ...view, secrets, bootstrap: { done: true, message: '' } };
}

/** Undefined when etcd has members, else why not yet. */
async function tryBootstrap(talos: TalosClient, name: string, signal: AbortSignal): Promise<string | undefined> {
  if (await hasMembers(talos, signal)) return undefined;
  try {
    await talos.bootstrap({ signal });
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    if (error.code !== 'TALOS_ALREADY_BOOTSTRAPPED') return `${name}: ${error.message}`;
  }
  return (await hasMembers(talos, signal)) ? undefined : `etcd is starting on ${name}.`;
}

async function hasMembers(talos: TalosClient, signal: AbortSignal): Promise<boolean> {
  try {
    return (await talos.etcdMembers({ signal })).length > 0;
  } catch (error) {
    // Before the bootstrap Talos answers this with an error; it is not a reliable no, so the caller asks again.
    if (error instanceof ProviderError) return false;
    throw error;
  }
}

/** An authenticated request with administrator rights, answered by the new API server. */
async function prove(services: Services, view: ClusterView, context: Context): Promise<Proof> {
  const url = view.endpoint?.url;
  if (url === undefined) return { ok: false, message: 'The endpoint is not known yet.' };
  try {
    const client = await services.targets.client(view.ref, url);
    await client.get(Namespace, { name: 'kube-system' }, context.signal);
    const { gitVersion } = await client.raw<{ gitVersion: string }>('GET', '/version', undefined, context.signal);
    await services.nodes.follow(view.ref, client, context.signal);
    return { ok: true, version: gitVersion.replace(/^v/, '') };
  } catch (error) {
    context.signal.throwIfAborted();
    if (!(error instanceof KubeError || error instanceof ProviderError)) throw error;
    const message = `${url} does not answer yet: ${sentence(error.message)}`;
    const led = await leadEndpoint(services, view, context);
    return { ok: false, message: led === undefined ? message : `${message} ${led}` };
  }
}

/** With a full stop, which words of others may lack. */
const sentence = (words: string): string => (/[.!?]$/.test(words) ? words : `${words}.`);

/** Labels and annotations that the contract wants on a Cluster; undefined when they are right already. */
export function describeMetadata(view: ClusterView, provider: string, version: string): object | undefined {
  const { labels: present = {}, annotations: notes = {} } = view.cluster.metadata;
  const kubernetesVersion = version.replaceAll('+', '_').slice(0, 63);
  const info = `Talos ${view.spec?.talos.version ?? ''} on ${view.platform ?? ''}, ${view.machines.length} machines`;
  const right =
    present[openmcp.provider] === provider &&
    present[openmcp.kubernetesVersion] === kubernetesVersion &&
    notes[openmcp.providerInfo] === info;
  if (right) return undefined;
  return {
    metadata: {
      labels: { [openmcp.provider]: provider, [openmcp.kubernetesVersion]: kubernetesVersion },
      annotations: { [openmcp.providerInfo]: info },
    },
  };
}
