import type { ReconcileContext } from '../../kube/controller/controller.ts';
import { ClusterRole, Secret } from '../../kube/core-types.ts';
import { isAlreadyExists } from '../../kube/errors.ts';
import { objectKeyOf } from '../../kube/resource.ts';
import type { KubeconfigInputs } from '../access-request/access-secret.ts';
import type { TargetCluster } from '../access-request/find-target-cluster.ts';
import { tokenSeconds } from '../access-request/grant/act-on-grant.ts';
import { openTargetConnection } from '../access-request/target-cluster/access-object-cache.ts';
import { type DesiredAccess, describeTokenAccess } from '../access-request/target-cluster/desired-access.ts';
import { ensureAccess } from '../access-request/target-cluster/ensure-access.ts';
import type { Services } from '../shared/services.ts';
import { askCluster } from './ask-cluster.ts';
import type { FormAction, FormView } from './decide-form.ts';
import { explainProblem } from './explain-problem.ts';
import {
  ensureInventoryProfile,
  type ProfileResult,
  reportInventoryHealth,
} from './inventory/ensure-inventory-profile.ts';
import { probeCredentials } from './probe-credentials.ts';
import { type Publication, publishedSecretName } from './publication.ts';
import { describeMarks, describePublishedSecret } from './published-secret.ts';

type FormContext = Pick<ReconcileContext, 'signal' | 'log'>;

export interface FormServices extends Services {
  /** Namespace of ServiceAccounts in the clusters. */
  readonly accountNamespace: string;
}

/** Executes the action. Errors that a user can fix, and those of an unreachable cluster, become the problem of the view. */
export async function actOnForm(
  services: FormServices,
  view: FormView,
  action: FormAction,
  context: FormContext,
): Promise<FormView> {
  try {
    return { ...view, ...(await execute(services, view, action, context)) };
  } catch (error) {
    context.signal.throwIfAborted();
    const problem = explainProblem(error, view.publication, action.kind);
    if (!problem) throw error;
    return { ...view, problem };
  }
}

async function execute(
  services: FormServices,
  view: FormView,
  action: FormAction,
  { signal, log }: FormContext,
): Promise<Partial<FormView>> {
  const { kube, provider } = services;
  const { publication } = view;
  switch (action.kind) {
    case 'seek-secret': {
      const key = secretKeyOf(publication);
      return { soughtSecret: { object: await kube.find(Secret, key, signal) } };
    }
    case 'remove-former-secret': {
      const { uid } = action.secret.metadata;
      await kube.remove(Secret, objectKeyOf(action.secret), uid ? { uid } : {}, signal);
      return { secret: undefined, soughtSecret: { object: await kube.find(Secret, secretKeyOf(publication), signal) } };
    }
    case 'ensure-access':
      return await ensureAccount(services, publication, action.target, signal);
    case 'read-signing-keys': {
      const { ref, server } = action.target;
      const connection = await openTargetConnection(services, ref, server);
      return { signingKeys: { ids: await connection.keys.read(signal) } };
    }
    case 'issue-token': {
      const secret = await issueToken(services, view, action, signal);
      log.info({ secret: secret.metadata.name, namespace: publication.namespace }, 'credentials were published');
      // What was just issued needs no comparison with the keys of the cluster.
      return { secret, signingKeys: { ids: undefined } };
    }
    case 'restore-marks': {
      const metadata = describeMarks(publication, provider);
      return { secret: await kube.merge(Secret, objectKeyOf(action.secret), { metadata }, {}, signal) };
    }
    case 'ensure-profile': {
      const { inventory } = publication;
      if (!inventory) return {};
      return toProfileView(
        await ensureInventoryProfile(services, { ...publication, inventory }, action.target, signal),
      );
    }
    case 'report-health': {
      const { inventory } = publication;
      if (!inventory) return {};
      return toProfileView(await reportInventoryHealth(services, { ...publication, inventory }, signal));
    }
  }
}

const toProfileView = (result: ProfileResult): Partial<FormView> =>
  'problem' in result ? { problem: result.problem } : { isProfileEnsured: true, healthSeconds: result.seconds };

const secretKeyOf = ({ form, cluster, namespace }: Publication) => ({
  namespace,
  name: publishedSecretName(form, cluster),
});

/** The account of the publication in the cluster, bound to its ClusterRole. */
async function ensureAccount(
  services: FormServices,
  publication: Publication,
  { ref, server }: TargetCluster,
  signal: AbortSignal,
): Promise<Partial<FormView>> {
  const connection = await openTargetConnection(services, ref, server);
  const { clusterRole: name } = publication;
  // A binding to a role that does not exist would be accepted, and would grant nothing.
  if (!(await connection.client.find(ClusterRole, { name }, signal))) {
    const message = `spec.publish.${publication.form}.clusterRole: there is no ClusterRole ${name} in the cluster. Create it there, or name another one.`;
    return { problem: { reason: 'ClusterRoleMissing', message } };
  }
  return { ensured: { account: await ensureAccess(connection, describeAccess(services, publication), signal) } };
}

/** What belongs to a publication in the cluster, with the marks of the objects of AccessRequests. */
export function describeAccess(
  { provider, accountNamespace }: Pick<FormServices, 'provider' | 'accountNamespace'>,
  { id, form, cluster, clusterRole }: Publication,
): DesiredAccess {
  const identity = { id, provider, accountNamespace, request: cluster };
  const access = describeTokenAccess({ roleRefs: [{ kind: 'ClusterRole', name: clusterRole }] }, identity);
  const from = `spec.publish.${form}.clusterRole`;
  return { ...access, objects: access.objects.map((object) => ({ ...object, from })) };
}

/** Nothing is published that was not tried. The Secret is rewritten while the former token is still valid. */
async function issueToken(
  services: FormServices,
  { publication }: FormView,
  { target, inputs }: { readonly target: TargetCluster; readonly inputs: KubeconfigInputs },
  signal: AbortSignal,
): Promise<Secret> {
  const { clock, provider, accountNamespace } = services;
  const { client } = await openTargetConnection(services, target.ref, target.server);
  const created = clock.now();
  const account = { namespace: accountNamespace, name: publication.id };
  const { token, expiration: expires } = await askCluster('a token', async () => {
    const issued = await client.requestToken(account, { expirationSeconds: tokenSeconds }, signal);
    await probeCredentials(services, target.server, issued.token, signal);
    return issued;
  });
  const secret = describePublishedSecret(publication, provider, inputs, { token, created, expires });
  return await writeSecret(services, secret, signal);
}

/** Creates the Secret, or writes our fields in it: keys, labels and finalizers of others stay. */
async function writeSecret({ kube }: Pick<Services, 'kube'>, secret: Secret, signal: AbortSignal): Promise<Secret> {
  try {
    return await kube.create(Secret, secret, signal);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    const { labels, annotations } = secret.metadata;
    const patch = { metadata: { labels, annotations }, data: secret.data };
    return await kube.merge(Secret, objectKeyOf(secret), patch, {}, signal);
  }
}
