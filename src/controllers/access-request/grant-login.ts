import type { ClusterIdentity } from '../../api/cluster-identity.ts';
import { type ConditionState, no, yes } from '../../api/conditions.ts';
import { accessSecretName } from '../../api/names.ts';
import type { Cluster, NamespacedRef, OidcAccess } from '../../api/openmcp.ts';
import { secretOfCluster } from '../cluster/identity.ts';
import { isMentioned, readTrust } from '../trust/record.ts';
import { readTrustReport, type TrustReport, type Verdict } from '../trust/report.ts';
import { expiresAt, holdsLogin, isOwnedBy, removeAccessSecret, writeAccessSecret } from './access-secret.ts';
import { describeOidcAccess } from './describe-oidc.ts';
import { ensureAsked } from './ensure-asked.ts';
import { oidcKubeconfig, type ServerIdentity } from './kubeconfig.ts';
import type { Site } from './looks.ts';
import { lookAgainSeconds, type Outcome, untilNextLook } from './outcome.ts';
import { revokeAccess } from './target.ts';
import type { Task } from './task.ts';

interface Place {
  readonly ref: ClusterIdentity;
  readonly cluster: Cluster;
  readonly server: ServerIdentity;
}

/** The Cluster tells when it goes on; this is for what is never told. */
const waitSeconds = 60;

/**
 * Access for the users of an OIDC issuer: rights in the cluster, and a kubeconfig with which people log in. Whether the
 * issuer is trusted is for the Cluster to decide and to bring about; only then is anything granted.
 */
export async function grantLogin(task: Task, place: Place, site: Site, oidc: OidcAccess): Promise<Outcome> {
  const { request, identity, signal } = task;
  const report = readTrustReport(place.cluster);
  const { uid, generation } = request.metadata;
  const verdict = report?.requests.find((one) => one.uid === uid && one.generation === generation);
  if (!report || !verdict || verdict.state === 'Refused') {
    await revokeAccess(site, identity, signal);
    await removeAccessSecret(task.services.kube, request, signal);
    return { ...(verdict ? refused(verdict) : undecided()), secretRemoved: true };
  }
  if (verdict.state === 'Failed') return await takenBack(task, place, site, verdict);
  await ensureAsked(site, identity, () => describeOidcAccess(oidc, identity), signal);
  if (verdict.state === 'Trusted') return await ensureLogin(task, place, oidc);
  const secretRemoved = await dropToken(task);
  return { ...rolling(report), ...(secretRemoved ? { secretRemoved } : {}) };
}

const notYet = (reason: 'WaitingForTrust' | 'TrustRefused' | 'TrustFailed', message: string): ConditionState[] => [
  yes('ClusterReady'),
  no('TrustReady', reason, message),
  no('AccessReady', reason, message),
];

function undecided(): Outcome {
  const message = 'The Cluster has not taken note of this request yet.';
  return {
    states: notYet('WaitingForTrust', message),
    againInSeconds: waitSeconds,
  };
}

const refused = ({ message = '' }: Verdict): Outcome => ({
  states: notYet('TrustRefused', message),
  againInSeconds: lookAgainSeconds,
});

/** What was granted by an earlier spec stays while that is trusted; what was asked for since is not granted. */
async function takenBack(task: Task, { ref }: Place, site: Site, { message = '' }: Verdict): Promise<Outcome> {
  const { services, request, identity, signal } = task;
  const object = secretOfCluster(services, ref);
  if (!isMentioned(object && readTrust(object), request.metadata.uid)) {
    await revokeAccess(site, identity, signal);
    await removeAccessSecret(services.kube, request, signal);
  }
  const isTold = request.status?.conditions?.some((one) => one.reason === 'TrustFailed' && one.message === message);
  if (!isTold) services.events.record(request, 'Warning', 'TrustFailed', message);
  return { states: notYet('TrustFailed', message), againInSeconds: lookAgainSeconds };
}

function rolling({ updated, total, message }: TrustReport): Outcome {
  const far = `${updated} of ${total} control planes trust the issuer.`;
  const said = message === undefined ? far : `${far} ${message}`;
  return { states: notYet('WaitingForTrust', said), againInSeconds: waitSeconds };
}

/** The account of an earlier token is gone by now. Says whether there was one. */
async function dropToken({ services, request, identity, signal }: Task): Promise<boolean> {
  if (expiresAt(presentSecret(services, identity.request)) === undefined) return false;
  await removeAccessSecret(services.kube, request, signal);
  return true;
}

async function ensureLogin(task: Task, { ref, server }: Place, oidc: OidcAccess): Promise<Outcome> {
  const { services, request, identity, signal, log } = task;
  const name = accessSecretName(identity.request);
  const login = {
    name: oidc.name,
    issuer: oidc.issuer,
    clientId: oidc.clientID,
    extraScopes: oidc.extraScopes ?? [],
    ca: authorityOf(task, ref, oidc.issuer),
  };
  const kubeconfig = oidcKubeconfig(server, ref, login);
  const present = presentSecret(services, identity.request);
  if (!present || !isOwnedBy(present, request) || !holdsLogin(present, kubeconfig)) {
    const { provider, kube, events, observer } = services;
    await writeAccessSecret(kube, { request, provider, id: identity.id, ground: { server }, kubeconfig }, signal);
    observer.granted('oidc', present && isOwnedBy(present, request) ? 'renewal' : 'new');
    events.record(request, 'Normal', 'Granted', `A kubeconfig for users of ${oidc.issuer} lies in Secret ${name}.`);
    log.info({ secret: name, issuer: oidc.issuer }, 'access granted');
  }
  return {
    states: [yes('ClusterReady'), yes('TrustReady'), yes('AccessReady')],
    secretName: name,
    againInSeconds: untilNextLook(services.clock),
  };
}

const presentSecret = ({ stores }: Task['services'], ref: NamespacedRef) =>
  stores.accessSecrets.get({ namespace: ref.namespace, name: accessSecretName(ref) });

/** What the nodes were told of the issuer, people have to know as well. */
function authorityOf({ services }: Task, ref: ClusterIdentity, issuer: string): string | undefined {
  const object = secretOfCluster(services, ref);
  return object && readTrust(object)?.entries.find((entry) => entry.issuer === issuer)?.ca;
}
