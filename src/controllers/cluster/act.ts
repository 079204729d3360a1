import semver from 'semver';
import { identityNotes } from '../../api/cluster-identity.ts';
import { Machine } from '../../api/machine.ts';
import { clusterId, group, labels, openmcp, version } from '../../api/names.ts';
import type { ProviderConfigSpec } from '../../api/provider-config-spec.ts';
import { Namespace } from '../../kube/core-types.ts';
import { isAlreadyExists, KubeError } from '../../kube/errors.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import { authorityId } from '../../talos/machine-config.ts';
import { atLeast } from '../../talos/versions.ts';
import { withRecord } from '../cluster-record.ts';
import { ensureClusterSecrets, readClusterSecrets } from '../cluster-secrets.ts';
import { handedDown } from '../objects.ts';
import type { Services } from '../services.ts';
import { choosePlatform } from '../spec/platform.ts';
import { type TrustRecord, writeTrust } from '../trust/record.ts';
import { rollTrust } from '../trust/roll.ts';
import { bootstrap } from './bootstrap.ts';
import { chooseSite } from './choose-site.ts';
import { ChosenSites } from './chosen-sites.ts';
import type { Decision } from './decide.ts';
import { findEndpoint } from './endpoint.ts';
import { foreignMachine } from './identity.ts';
import { leadEndpoint } from './lead.ts';
import { seekSecrets, writeRecord } from './record.ts';
import { type ClusterView, decideAgain, foundSecrets, judgeFor, type Proof, type Slot, wishedPrefix } from './view.ts';

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
      return await makeSecrets(services, view, decision.kubernetesVersion, context);
    case 'seek-secrets':
      return await seekSecrets(services, view, context.signal);
    case 'record':
      return await writeRecord(services, view, context.signal);
    case 'find-endpoint':
      return { ...view, ...(await findEndpoint(services, view, context.signal)) };
    case 'create-machines':
      return { ...view, ...(await makeMachines(services, view, decision.slots, context)) };
    case 'bootstrap':
      return await bootstrap(services, view, decision.machine, context);
    case 'record-trust':
      return { ...view, ...(await changeRecord(services, view, decision.record, context)) };
    case 'roll-trust':
      return { ...view, ...(await roll(services, view, decision.record, context)) };
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
): Promise<ClusterView> {
  const { kube, namespace, provider, clock } = services;
  const current = await seekSecrets(services, view, context.signal);
  if (current.secrets || current.trouble) return current;
  const nodePrefix = wishedPrefix(view);
  const wanted = { namespace, provider, cluster: view.ref, kubernetesVersion, nodePrefix, now: clock.now() };
  try {
    const secrets = await ensureClusterSecrets(kube, wanted, context.signal);
    context.log.info({ secret: secrets.object.metadata.name }, 'secrets of the cluster exist');
    return { ...current, ...foundSecrets(judgeFor(services, { ...current, object: secrets.object })) };
  } catch (error) {
    // Another Cluster's Secret of that name was made since it was looked for.
    if (!(error instanceof ProviderError) || error.code !== 'NAME_COLLISION') throw error;
    return { ...current, trouble: { reason: 'NameCollision', message: error.message } };
  }
}

/** What was tried and did not come up is told, and undone at once. */
async function changeRecord(
  services: Services,
  view: ClusterView,
  record: TrustRecord,
  context: Context,
): Promise<Partial<ClusterView>> {
  const secrets = await recordTrust(services, view, record, context);
  const trust = decideAgain(services, view, secrets);
  const machine = view.roll?.failed;
  if (machine === undefined) return { secrets, trust };
  const issuers = view.secrets?.trust?.entries.map(({ issuer }) => issuer) ?? [];
  const message = `The API server of ${machine} did not come up with another trust in OIDC issuers: what was in force before is put back.`;
  services.events.record(view.cluster, 'Warning', 'TrustTakenBack', message);
  context.log.warn(
    { machine, issuers },
    'the API server does not come up with these OIDC issuers: they are taken back',
  );
  return { secrets, trust, roll: undefined };
}

async function roll(
  services: Services,
  view: ClusterView,
  record: TrustRecord,
  { signal, log }: Context,
): Promise<Partial<ClusterView>> {
  let { secrets } = view;
  const state = await rollTrust(services, view.ref, view.machines, record, {
    signal,
    log,
    noteTrial: async (trial) => {
      if (!secrets) throw new ProviderError('INTERNAL', 'What a cluster trusts lies beside its secrets.');
      const object = await writeTrust(services.kube, secrets.object, { ...record, trial }, signal);
      secrets = withRecord(readClusterSecrets(object), secrets);
    },
  });
  return { secrets, roll: state, machines: state.machines };
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
  return withRecord(readClusterSecrets(object), secrets);
}

async function makeMachines(
  services: Services,
  view: ClusterView,
  slots: readonly Slot[],
  context: Context,
): Promise<Pick<ClusterView, 'machines' | 'nameTaken'>> {
  const made: Machine[] = [];
  let nameTaken: string | undefined;
  for (const slot of slots) {
    const placed = { ...slot, site: siteFor(services, view, slot, made) };
    const machine = describeMachine(services, view, placed);
    try {
      made.push(await services.kube.create(Machine, machine, context.signal));
      services.events.record(view.cluster, 'Normal', 'MachineCreated', `Machine ${slot.name} was created.`);
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      const present = await services.kube.get(Machine, { name: slot.name }, context.signal);
      const taken = foreignMachine(services, present, view.ref);
      if (taken === undefined) made.push(present);
      else nameTaken ??= taken;
    }
  }
  return { machines: [...view.machines, ...made], nameTaken };
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
        ...identityNotes(view.ref),
      },
    },
    spec: {
      providerRef: { name: services.provider, environment: services.environment, namespace: services.namespace },
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

/** An authenticated request with administrator rights, answered by the new API server. */
async function prove(services: Services, view: ClusterView, context: Context): Promise<Proof> {
  const url = view.endpoint?.url;
  if (url === undefined) return { ok: false, message: 'The endpoint is not known yet.' };
  try {
    const client = await services.targets.client(view.ref, url);
    await client.get(Namespace, { name: 'kube-system' }, context.signal);
    const said = await client.raw<{ gitVersion?: unknown } | null>('GET', '/version', undefined, context.signal);
    const version = String(said?.gitVersion ?? '');
    if (semver.valid(version) === null)
      return { ok: false, message: `${url} does not say which version of Kubernetes it is.` };
    await services.nodes.follow(view.ref, client, context.signal);
    return { ok: true, version: version.replace(/^v/, '') };
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
