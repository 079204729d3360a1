import { type ConditionState, no, type Reason, yes } from '../../api/conditions.ts';
import { accessSecretName } from '../../api/names.ts';
import { isNotFound, isRefusal, isUnreachable } from '../../kube/errors.ts';
import type { Clock } from '../../lib/clock.ts';
import { ProviderError } from '../../lib/errors.ts';
import {
  assertWritable,
  dueAt,
  type Ground,
  NotWritable,
  removeAccessSecret,
  renewalAt,
  writeAccessSecret,
} from './access-secret.ts';
import { describeAccess, InvalidRequest } from './describe.ts';
import { ensureAsked } from './ensure-asked.ts';
import { findTarget } from './find-target.ts';
import { grantLogin } from './grant-login.ts';
import { tokenKubeconfig } from './kubeconfig.ts';
import { openSite, type Site } from './looks.ts';
import { lookAgainSeconds, type Outcome, untilNextLook } from './outcome.ts';
import { signingKeyOf } from './signing-keys.ts';
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
    const account = await ensureAsked(site, identity, () => describeAccess(token, identity), signal);
    return await ensureToken(task, { server: target.server, account }, site, renew);
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
  if (error instanceof NotWritable) return refused('SecretNotWritable', error.message);
  if (isUnreachable(error) || error instanceof ProviderError) {
    const message = `The cluster does not answer: ${(error as Error).message}`;
    return {
      states: [no('ClusterReady', 'WaitingForCluster', message), no('AccessReady', 'WaitingForCluster', message)],
      againInSeconds: waitSeconds,
    };
  }
  if (error instanceof Refused) return refused('TargetRefused', error.message);
  if (isRefusal(error)) {
    const outcome = refused('TargetRefused', `The cluster refused: ${(error as Error).message}`);
    // What was there a moment ago is not there any more, and is made anew.
    return isNotFound(error) ? { ...outcome, againInSeconds: waitSeconds } : outcome;
  }
  throw error;
}

/** What an earlier request left behind goes all the same. */
async function refuseNothing({ services, request, identity, signal }: Task, site: Site): Promise<Outcome> {
  await revokeAccess(site, identity, signal);
  await removeAccessSecret(services.kube, request, signal);
  const message = 'spec: neither token nor oidc is given. Say what is asked for.';
  return {
    states: [yes('ClusterReady'), no('AccessReady', 'InvalidConfig', message)],
    secretRemoved: true,
    againInSeconds: lookAgainSeconds,
  };
}

async function ensureToken(task: Task, ground: Ground, site: Site, renew: boolean): Promise<Outcome> {
  const { services, request, identity, signal, log } = task;
  const name = accessSecretName(identity.request);
  const now = services.clock.now();
  const present = services.stores.accessSecrets.get({ namespace: identity.request.namespace, name });
  // Said as soon as it is seen, not only when a token is due; and no token is requested that could not be kept.
  if (present) assertWritable(present, request);
  if (!renew && present) {
    const due = dueAt(present, ground, await site.keys.read(signal), now);
    if (due && now < due) return granted(services.clock, name, due);
  }
  const account = { namespace: identity.accountNamespace, name: identity.id };
  const { token, expiration: expires } = await site.client.requestToken(
    account,
    { expirationSeconds: tokenSeconds },
    signal,
  );
  const { provider } = services;
  const kubeconfig = tokenKubeconfig(ground.server, provider, token);
  const lifetime = { created: now, expires };
  const signingKey = signingKeyOf(token);
  const written = { request, provider, id: identity.id, ground, kubeconfig, signingKey, lifetime };
  await writeAccessSecret(services.kube, written, signal);
  const until = expires.toISOString();
  const isNew = !present;
  services.observer.granted('token', isNew ? 'new' : 'renewal');
  // A renewal is no news.
  if (isNew) services.events.record(request, 'Normal', 'Granted', `A token until ${until} lies in Secret ${name}.`);
  log.info({ secret: name, until }, 'access granted');
  return granted(services.clock, name, renewalAt(now, expires));
}

function granted(clock: Clock, secretName: string, due: Date): Outcome {
  const untilDue = Math.max(1, (due.getTime() - clock.now().getTime()) / 1000);
  return {
    states: [yes('ClusterReady'), yes('AccessReady')],
    secretName,
    againInSeconds: Math.min(untilNextLook(clock), untilDue),
  };
}
