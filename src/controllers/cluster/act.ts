import { clusterIdentityAnnotations } from '../../api/cluster-identity.ts';
import { Machine } from '../../api/machine.ts';
import { clusterId, group, labels, openmcpKeys, version } from '../../api/names.ts';
import { Cluster } from '../../api/openmcp/types.ts';
import type { ProviderConfigSpec } from '../../api/provider-config-spec.ts';
import { isAlreadyExists } from '../../kube/errors.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import { issuerCaId } from '../../talos/config/machine-config.ts';
import { isAtLeastMinor } from '../../talos/versions.ts';
import { requestBackup } from '../backup/request-backup.ts';
import { listRemediations } from '../remediation/remediation-record.ts';
import { startRemediation, withdrawRemediation } from '../remediation/start-remediation.ts';
import { rollOutTrust } from '../rollout/oidc-trust/roll-out-trust.ts';
import { type TrustRecord, writeTrustRecord } from '../rollout/oidc-trust/trust-record.ts';
import { findMissingBackup, type MissingBackup } from '../rollout/policy/backup-before-update.ts';
import { removeRolloutRequest, retryUpdates } from '../rollout/policy/retry-updates.ts';
import { startUpdate } from '../rollout/start-update.ts';
import { inheritedMetadata } from '../shared/objects.ts';
import { lowestTalosVersion } from '../shared/running-talos-version.ts';
import { withClusterRecord } from '../shared/secrets/cluster-record.ts';
import { ensureClusterSecrets, readClusterSecrets } from '../shared/secrets/cluster-secrets.ts';
import type { Services } from '../shared/services.ts';
import { choosePlatform } from '../shared/spec/choose-platform.ts';
import { actOnRotation } from './act-on-rotation.ts';
import { actOnUpgrade } from './act-on-upgrade.ts';
import { bootstrapEtcd } from './bootstrap-etcd.ts';
import { chooseFailureDomain } from './choose-failure-domain.ts';
import type { ClusterDecision } from './decide.ts';
import { versionsOfNewMachine } from './decide-kubernetes.ts';
import { describeForeignMachine } from './describe-foreign-object.ts';
import { desiredMachineSpec } from './desired-machine-spec.ts';

import { FailureDomainReservations } from './failure-domain-reservations.ts';
import { probeApiServer } from './probe-api-server.ts';
import { resolveEndpoint } from './resolve-endpoint.ts';
import { createNodePools } from './scaling/create-node-pools.ts';
import { deleteSurplusMachine } from './scaling/delete-surplus-machine.ts';
import type { MachineSlot } from './scaling/machine-slots.ts';
import { updateMachineSpecs } from './update-machine-specs.ts';
import {
  assessSecretsOfCluster,
  type ClusterView,
  readDesiredNodePrefix,
  toSecretsView,
  updateDesiredTrust,
} from './view.ts';
import { refetchSecrets, writeClusterRecord } from './write-cluster-record.ts';

interface ClusterReconcileContext {
  readonly signal: AbortSignal;
  readonly log: Log;
  /** A user asks for this reconcile. */
  readonly isRequested?: boolean;
}

/** Executes the decision and returns the view after it. */
export async function actOnCluster(
  services: Services,
  view: ClusterView,
  decision: ClusterDecision,
  context: ClusterReconcileContext,
): Promise<ClusterView> {
  switch (decision.kind) {
    case 'create-secrets':
      return await createSecrets(services, view, decision.kubernetesVersion, context);
    case 'seek-secrets':
      return await refetchSecrets(services, view, context.signal);
    case 'record':
      return await writeClusterRecord(services, view, context.signal);
    case 'find-endpoint':
      return { ...view, ...(await resolveEndpoint(services, view, context.signal)) };
    case 'create-node-pools':
      return { ...view, ...(await createNodePools(services, view, decision.pools, context.signal)) };
    case 'create-machines':
      return { ...view, ...(await createMachines(services, view, decision.slots, context)) };
    case 'bootstrap':
      return await bootstrapEtcd(services, view, decision.machine, context);
    case 'record-trust':
      return { ...view, ...(await updateTrustRecord(services, view, decision.record, context)) };
    case 'roll-trust':
      return { ...view, ...(await continueTrustRollout(services, view, decision.record, context)) };
    case 'update-specs': {
      const machines = await updateMachineSpecs(services, view.machines, decision.updates, context.signal);
      return { ...view, machines };
    }
    case 'prove':
      return { ...view, proof: await probeApiServer(services, view, context) };
    case 'end-rollout-request':
      return await endRolloutRequest(services, view, decision.retry, context.signal);
    case 'delete-machine':
      return await deleteSurplusMachine(services, view, decision.pool, context);
    case 'remediate':
      return await remediateNode(services, view, decision.remediation, context);
    case 'withdraw-remediation':
      return withMachine(view, await withdrawRemediation(services, view.cluster, decision.machine, context));
    case 'upgrade':
      return await actOnUpgrade(services, view, decision.action, context);
    case 'update-machine':
      return await updateMachine(services, view, decision.update, context);
    case 'rotate':
      return await actOnRotation(services, view, decision.action, context);
    case 'settled':
      return view;
  }
}

async function updateMachine(
  services: Services,
  view: ClusterView,
  update: Extract<ClusterDecision, { kind: 'update-machine' }>['update'],
  context: ClusterReconcileContext,
): Promise<ClusterView> {
  const { cluster, config, ref, machines: all, revision = '', spec } = view;
  const { candidates, isResumed } = update;
  const secured = { cluster, config, hasBackups: spec?.backup !== undefined, machines: all, candidates };
  const missing = isResumed ? undefined : findMissingBackup(secured);
  if (missing) return await waitForBackup(services, view, missing, context);
  const { maxClusters = 1, healthChecks = [] } = spec?.rollout ?? {};
  const request = { cluster, ref, machines: all, revision, maxClusters, healthChecks };
  const started = await startUpdate(services, request, update, context);
  if ('message' in started) return { ...view, updateObstacle: started };
  return withMachine(view, started.machine);
}

async function waitForBackup(
  services: Services,
  view: ClusterView,
  { message, isRequested }: MissingBackup,
  { signal }: ClusterReconcileContext,
): Promise<ClusterView> {
  const next = { ...view, updateObstacle: { message, isTurn: false } };
  if (isRequested) return next;
  return { ...next, cluster: await requestBackup(services, view.cluster, signal) };
}

async function remediateNode(
  services: Services,
  view: ClusterView,
  remediation: Extract<ClusterDecision, { kind: 'remediate' }>['remediation'],
  context: ClusterReconcileContext,
): Promise<ClusterView> {
  const started = await startRemediation(services, view, remediation, context);
  if ('problem' in started) return { ...view, remediationObstacle: started.problem };
  const next = withMachine(view, started.machine);
  return { ...next, remediations: listRemediations(view.cluster, next.machines, view.now) };
}

function withMachine(view: ClusterView, written: Machine): ClusterView {
  const { name } = written.metadata;
  return { ...view, machines: view.machines.map((machine) => (machine.metadata.name === name ? written : machine)) };
}

/** The annotation has had its effect. It is removed after that: a crash in between repeats the effect. */
async function endRolloutRequest(
  services: Services,
  view: ClusterView,
  retry: readonly Machine[],
  signal: AbortSignal,
): Promise<ClusterView> {
  await retryUpdates(services, retry, signal);
  const { metadata } = await removeRolloutRequest(services, Cluster, view.cluster, signal);
  for (const { metadata: machine } of retry)
    services.events.record(view.cluster, 'Normal', 'UpdateRetried', `The update of ${machine.name} begins again.`);
  return { ...view, cluster: { ...view.cluster, metadata } };
}

async function createSecrets(
  services: Services,
  view: ClusterView,
  kubernetesVersion: string,
  context: ClusterReconcileContext,
): Promise<ClusterView> {
  const { kube, namespace, provider, clock } = services;
  const current = await refetchSecrets(services, view, context.signal);
  if (current.secrets || current.secretsProblem) return current;
  const nodePrefix = readDesiredNodePrefix(view);
  const wanted = { namespace, provider, cluster: view.ref, kubernetesVersion, nodePrefix, now: clock.now() };
  try {
    const secrets = await ensureClusterSecrets(kube, wanted, context.signal);
    context.log.info({ secret: secrets.object.metadata.name }, 'secrets of the cluster exist');
    return { ...current, ...toSecretsView(assessSecretsOfCluster(services, { ...current, object: secrets.object })) };
  } catch (error) {
    // Another Cluster's Secret of that name was created since the last lookup.
    if (!(error instanceof ProviderError) || error.code !== 'NAME_COLLISION') throw error;
    return { ...current, secretsProblem: { reason: 'NameCollision', message: error.message } };
  }
}

/** Reports a trust that failed its trial and returns to the previous one at once. */
async function updateTrustRecord(
  services: Services,
  view: ClusterView,
  record: TrustRecord,
  context: ClusterReconcileContext,
): Promise<Partial<ClusterView>> {
  const secrets = await saveTrustRecord(services, view, record, context);
  const trust = updateDesiredTrust(services, view, secrets);
  const machine = view.trustRollout?.failed;
  if (machine === undefined) return { secrets, trust };
  const issuers = view.secrets?.trust?.entries.map(({ issuer }) => issuer) ?? [];
  const message = `The API server of ${machine} did not start with the changed OIDC issuers. The previous configuration is restored.`;
  services.events.record(view.cluster, 'Warning', 'TrustRolledBack', message);
  context.log.warn({ machine, issuers }, 'the API server does not start with these OIDC issuers: they are rolled back');
  return { secrets, trust, trustRollout: undefined };
}

async function continueTrustRollout(
  services: Services,
  view: ClusterView,
  record: TrustRecord,
  { signal, log }: ClusterReconcileContext,
): Promise<Partial<ClusterView>> {
  let { secrets } = view;
  const state = await rollOutTrust(services, view.ref, view.machines, record, {
    signal,
    log,
    recordTrial: async (trial) => {
      if (!secrets) throw new ProviderError('INTERNAL', 'The secrets of the cluster are unknown.');
      const object = await writeTrustRecord(services.kube, secrets.object, { ...record, trial }, signal);
      secrets = withClusterRecord(readClusterSecrets(object), secrets);
    },
  });
  return { secrets, trustRollout: state, machines: state.machines };
}

async function saveTrustRecord(
  { kube }: Services,
  { secrets, ref }: ClusterView,
  record: TrustRecord,
  { signal, log }: ClusterReconcileContext,
): Promise<ClusterView['secrets']> {
  if (!secrets) throw new ProviderError('INTERNAL', 'The secrets of the cluster are unknown.');
  const object = await writeTrustRecord(kube, secrets.object, record, signal);
  const issuers = record.entries.map(({ issuer }) => issuer);
  log.info(
    { cluster: `${ref.namespace}/${ref.name}`, issuers, complete: record.complete },
    'trusted OIDC issuers recorded',
  );
  return withClusterRecord(readClusterSecrets(object), secrets);
}

async function createMachines(
  services: Services,
  view: ClusterView,
  slots: readonly MachineSlot[],
  context: ClusterReconcileContext,
): Promise<Pick<ClusterView, 'machines' | 'nameTaken'>> {
  const made: Machine[] = [];
  let nameTaken: string | undefined;
  for (const slot of slots) {
    const placed = { ...slot, failureDomain: chooseFailureDomainFor(services, view, slot, made) };
    const machine = describeMachine(services, view, placed);
    try {
      made.push(await services.kube.create(Machine, machine, context.signal));
      services.events.record(view.cluster, 'Normal', 'MachineCreated', `Machine ${slot.name} was created.`);
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      const present = await services.kube.get(Machine, { name: slot.name }, context.signal);
      const taken = describeForeignMachine(services, present, view.ref);
      if (taken === undefined) made.push(present);
      else nameTaken ??= taken;
    }
  }
  return { machines: [...view.machines, ...made], nameTaken };
}

/** Chooses the failure domain of a new Machine by the existing Machines and the recent reservations. */
function chooseFailureDomainFor(
  { platforms, stores, connections, clock }: Services,
  { spec, config, machines }: ClusterView,
  { name, pool }: MachineSlot,
  made: readonly Machine[],
): string | undefined {
  const chosen = spec && choosePlatform(platforms, spec);
  const names = chosen ? chosen.platform.failureDomains.names(chosen.config) : [];
  if (names.length === 0) return undefined;
  const ofCluster = [...machines, ...made].map((machine) => machine.spec);
  const ours = config?.metadata.name ?? '';
  const known = stores.machines.list().map((machine) => machine.spec);
  const ofConfig = known.filter(({ providerConfigRef }) => providerConfigRef.name === ours);
  const reservations = connections.get('failure-domain-reservations', () => new FailureDomainReservations(clock));
  // The reservations include the Machines of this Cluster that the cache does not show yet.
  const recent = reservations.unknown(
    ours,
    (machine) => machine === name || stores.machines.get({ name: machine }) !== undefined,
  );
  const failureDomain = chooseFailureDomain(names, pool, ofCluster, [...ofConfig, ...recent]);
  reservations.reserve(name, ours, { pool, failureDomain });
  return failureDomain;
}

function describeMachine(services: Services, view: ClusterView, slot: MachineSlot): Machine {
  const { cluster, config, spec, endpoint, secrets } = view;
  if (!config || !spec || !endpoint || !secrets) throw new ProviderError('INTERNAL', 'Machines cannot be created yet.');
  return {
    apiVersion: `${group}/${version}`,
    kind: 'Machine',
    metadata: {
      name: slot.name,
      labels: {
        ...inheritedMetadata(cluster.metadata.labels),
        [labels.provider]: services.provider,
        [labels.cluster]: clusterId(view.ref),
        [labels.role]: slot.role,
        [labels.pool]: slot.pool,
      },
      annotations: {
        ...inheritedMetadata(cluster.metadata.annotations),
        ...clusterIdentityAnnotations(view.ref),
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
      ...(slot.failureDomain === undefined ? {} : { failureDomain: slot.failureDomain }),
      ...desiredMachineSpec(spec),
      ...versionsOfNewMachine(view, slot.role),
      ...(endpoint.url === undefined ? {} : { endpoint: endpoint.url }),
      ...(endpoint.virtualAddress ? { virtualAddress: endpoint.virtualAddress } : {}),
      ...describeIssuerAuthorities(spec, slot),
    },
  };
}

/**
 * Control planes before Talos 1.14 get the CA certificates of OIDC issuers with their first configuration, or never.
 */
function describeIssuerAuthorities(
  { access, talos }: ProviderConfigSpec,
  { role }: MachineSlot,
): Partial<Machine['spec']> {
  if (role !== 'controlplane' || access.oidcIssuers.length === 0 || isAtLeastMinor(talos.version, '1.14')) return {};
  return { issuerAuthorities: access.oidcIssuers.map(({ caBundle }) => issuerCaId(caBundle)) };
}

/** The labels and annotations that the contract requires on a Cluster; undefined if they are correct. */
export function describeMetadataPatch(view: ClusterView, provider: string, version: string): object | undefined {
  const { labels: present = {}, annotations: notes = {} } = view.cluster.metadata;
  const kubernetesVersion = version.replaceAll('+', '_').slice(0, 63);
  const info = `Talos ${lowestTalosVersion(view.machines) ?? view.spec?.talos.version ?? ''} on ${view.platform ?? ''}, ${view.machines.length} machines`;
  const right =
    present[openmcpKeys.provider] === provider &&
    present[openmcpKeys.kubernetesVersion] === kubernetesVersion &&
    notes[openmcpKeys.providerInfo] === info;
  if (right) return undefined;
  return {
    metadata: {
      labels: { [openmcpKeys.provider]: provider, [openmcpKeys.kubernetesVersion]: kubernetesVersion },
      annotations: { [openmcpKeys.providerInfo]: info },
    },
  };
}
