import { type ConditionState, no, type Reason, yes } from '../../api/conditions.ts';
import { accessSecretName } from '../../api/names.ts';
import type { KubeClient } from '../../kube/client.ts';
import { isRefusal, isUnreachable } from '../../kube/errors.ts';
import { ProviderError } from '../../lib/errors.ts';
import { dueAt, isOwnedBy, removeAccessSecret, renewalAt, writeAccessSecret } from './access-secret.ts';
import { describeAccess, InvalidRequest } from './describe.ts';
import { ensureAsked } from './ensure-asked.ts';
import { findTarget } from './find-target.ts';
import { grantLogin } from './grant-login.ts';
import { type ServerIdentity, tokenKubeconfig } from './kubeconfig.ts';
import { openSite, type Site } from './looks.ts';
import { lookAgainSeconds, type Outcome } from './outcome.ts';
import { NotManaged, Refused, revokeAccess } from './target.ts';
import type { Task } from './task.ts';

/** Thirty days, as the other openMCP providers ask for. */
const tokenSeconds = 30 * 24 * 3600;
const waitSeconds = 30;

/** Makes the access that a request asks for, and keeps its token fresh. `renew`: even when it still lasts. */
export async function grant(task: Task, renew: boolean): Promise<Outcome> {
  const { services, request, identity, signal } = task;
  const target = findTarget(services, request);
  if ('waiting' in target) return waitFor(target.waiting);
  const site = await openSite(services, target.ref, target.server);
  try {
    const { token, oidc } = request.spec;
    if (!token) return oidc ? await grantLogin(task, target, site, oidc) : await refuseNothing(task, site);
    await ensureAsked(site, identity, () => describeAccess(token, identity), signal);
    return await ensureToken(task, target.server, site.client, renew);
  } catch (error) {
    signal.throwIfAborted();
    return explain(error);
  }
}

function waitFor(state: ConditionState): Outcome {
  const message = `${state.message} Access follows by itself.`;
  const told = state.reason === 'WaitingForCluster' ? { ...state, message } : state;
  return {
    states: [told, no('AccessReady', 'WaitingForCluster', 'Nothing is granted yet.')],
    againInSeconds: waitSeconds,
  };
}

/** What went wrong, as conditions where people can do something about it; everything else is thrown on. */
function explain(error: unknown): Outcome {
  const refused = (reason: Reason, message: string): Outcome => ({
    states: [yes('ClusterReady'), no('AccessReady', reason, message)],
    againInSeconds: lookAgainSeconds,
  });
  if (error instanceof InvalidRequest) return refused('InvalidConfig', error.message);
  if (error instanceof NotManaged) return refused('NotManaged', error.message);
  if (isUnreachable(error) || error instanceof ProviderError) {
    const message = `The cluster does not answer: ${(error as Error).message}`;
    return {
      states: [no('ClusterReady', 'WaitingForCluster', message), no('AccessReady', 'WaitingForCluster', message)],
      againInSeconds: waitSeconds,
    };
  }
  if (error instanceof Refused) return refused('TargetRefused', error.message);
  if (isRefusal(error)) return refused('TargetRefused', `The cluster refused: ${(error as Error).message}`);
  throw error;
}

/** What an earlier request left behind goes all the same. */
async function refuseNothing({ services, request, identity, signal }: Task, site: Site): Promise<Outcome> {
  await revokeAccess(site, identity.id, signal);
  await removeAccessSecret(services.kube, request, signal);
  const message = 'spec: neither token nor oidc is given. Say what is asked for.';
  return {
    states: [yes('ClusterReady'), no('AccessReady', 'InvalidConfig', message)],
    againInSeconds: lookAgainSeconds,
  };
}

async function ensureToken(task: Task, server: ServerIdentity, client: KubeClient, renew: boolean): Promise<Outcome> {
  const { services, request, identity, signal, log } = task;
  const name = accessSecretName(identity.request);
  const now = services.clock.now();
  const present = services.stores.accessSecrets.get({ namespace: identity.request.namespace, name });
  const due = renew || !present || !isOwnedBy(present, request) ? undefined : dueAt(present, server, now);
  if (due && now < due) return granted(name, due, now);
  const account = { namespace: identity.accountNamespace, name: identity.id };
  const { token, expiration: expires } = await client.requestToken(
    account,
    { expirationSeconds: tokenSeconds },
    signal,
  );
  const { provider } = services;
  const kubeconfig = tokenKubeconfig(server, provider, token);
  const lifetime = { created: now, expires };
  const written = { request, provider, id: identity.id, server, kubeconfig, lifetime };
  await writeAccessSecret(services.kube, written, signal);
  const until = expires.toISOString();
  services.events.record(request, 'Normal', 'Granted', `A token until ${until} lies in Secret ${name}.`);
  log.info({ secret: name, until }, 'access granted');
  return granted(name, renewalAt(now, expires), now);
}

function granted(secretName: string, due: Date, now: Date): Outcome {
  const untilDue = Math.max(1, (due.getTime() - now.getTime()) / 1000);
  return {
    states: [yes('ClusterReady'), yes('AccessReady')],
    secretName,
    againInSeconds: Math.min(lookAgainSeconds, untilDue),
  };
}
