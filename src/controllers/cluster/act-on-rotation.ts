import { annotations } from '../../api/names.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import { type AuthorityRotation, advanceRotation, type RotationState } from '../../talos/secrets/authority-rotation.ts';
import { createAuthority, type RotatableAuthority } from '../../talos/secrets/secrets-bundle.ts';
import { requestBackup } from '../backup/request-backup.ts';
import { describePhase, describeRotated } from '../rollout/authorities/decide-rotation.ts';
import { findRotationProblem } from '../rollout/authorities/verify-rotation.ts';
import { annotateCluster } from '../shared/objects.ts';
import { withClusterRecord } from '../shared/secrets/cluster-record.ts';
import { type ClusterSecrets, writeRotation } from '../shared/secrets/cluster-secrets.ts';
import type { Services } from '../shared/services.ts';
import type { RotationAction } from './decide-cluster-rotation.ts';
import type { ClusterView } from './view.ts';

interface RotationContext {
  readonly signal: AbortSignal;
  readonly log: Log;
}

/** Executes a decision about the rotation of a certificate authority and returns the view after it. */
export async function actOnRotation(
  services: Services,
  view: ClusterView,
  action: RotationAction,
  context: RotationContext,
): Promise<ClusterView> {
  switch (action.kind) {
    case 'begin':
      return await begin(services, view, action.authority, context);
    case 'end-request':
      return {
        ...view,
        cluster: await annotateCluster(services, view.cluster, { [annotations.rotateCa]: null }, context.signal),
      };
    case 'verify':
      return { ...view, rotationCheck: { problem: await verify(services, view, context) } };
    case 'advance':
      return await advance(services, view, action.rotation, context);
  }
}

/** The new authority is stored before any node or client gets it, so that there is never a third one. */
async function begin(
  services: Services,
  view: ClusterView,
  authority: RotatableAuthority,
  context: RotationContext,
): Promise<ClusterView> {
  const now = services.clock.now();
  const other = await createAuthority(authority, now);
  const rotation: AuthorityRotation = { authority, phase: 'accept', other, startedAt: now.toISOString() };
  const next = await write(services, view, { bundle: secretsOf(view).bundle, rotation }, context);
  const message = describePhase(rotation);
  services.events.record(view.cluster, 'Normal', 'RotationStarted', message);
  context.log.info({ authority, phase: 'accept' }, 'rotation of a certificate authority begins');
  return next;
}

async function verify(services: Services, view: ClusterView, { signal }: RotationContext): Promise<string | undefined> {
  const { bundle, rotation } = secretsOf(view);
  if (!rotation) throw new ProviderError('INTERNAL', 'No certificate authority is rotated.');
  return await findRotationProblem(services, { ref: view.ref, machines: view.machines, bundle, rotation }, signal);
}

async function advance(
  services: Services,
  view: ClusterView,
  { authority, phase, ...rest }: AuthorityRotation,
  context: RotationContext,
): Promise<ClusterView> {
  const state = advanceRotation(secretsOf(view).bundle, { authority, phase, ...rest });
  const { rotation } = state;
  // A backup from before has a Secret that no node accepts any more. Asked for first: a crash cannot lose the request.
  const isBackedUp = rotation === undefined && view.spec?.backup !== undefined;
  const cluster = isBackedUp ? await requestBackup(services, view.cluster, context.signal) : view.cluster;
  const next = await write(services, { ...view, cluster }, state, context);
  const reason = rotation ? 'RotationProgressed' : 'RotationFinished';
  const message = rotation ? describePhase(rotation) : describeRotated(authority);
  services.events.record(view.cluster, 'Normal', reason, message);
  context.log.info({ authority, phase: rotation?.phase ?? 'none' }, 'rotation of a certificate authority goes on');
  return next;
}

async function write(
  { kube }: Services,
  view: ClusterView,
  state: RotationState,
  { signal }: RotationContext,
): Promise<ClusterView> {
  const secrets = secretsOf(view);
  const written = await writeRotation(kube, secrets, state, signal);
  return { ...view, secrets: withClusterRecord(written, secrets), rotationCheck: undefined };
}

function secretsOf({ secrets }: ClusterView): ClusterSecrets {
  if (!secrets) throw new ProviderError('INTERNAL', 'The secrets of the cluster are unknown.');
  return secrets;
}
