import type { ClusterIdentity } from '../../../api/cluster-identity.ts';
import type { Machine } from '../../../api/machine.ts';
import { Namespace } from '../../../kube/core-types.ts';
import { isForbidden, isUnauthorized, KubeError } from '../../../kube/errors.ts';
import { ProviderError } from '../../../lib/errors.ts';
import { toAuthority } from '../../../lib/net/ip.ts';
import { findApiServerPod } from '../../../talos/client/api-server-pod.ts';
import { type AuthorityRotation, formerBundle, verificationBundle } from '../../../talos/secrets/authority-rotation.ts';
import type { SecretsBundle } from '../../../talos/secrets/secrets-bundle.ts';
import { type ControlPlane, controlPlaneOf } from '../../shared/control-planes/control-plane.ts';
import { findHealthProblem } from '../../shared/control-planes/health-problems.ts';
import { queryNode } from '../../shared/control-planes/query-node.ts';
import type { Services } from '../../shared/services.ts';

/** An authority that is being rotated, and the bundle of its cluster. */
export interface RotatedAuthority {
  readonly ref: ClusterIdentity;
  readonly bundle: SecretsBundle;
  readonly rotation: AuthorityRotation;
}

export type MachineVerificationServices = Pick<Services, 'targets' | 'nodes'>;

const callSeconds = 10;

/**
 * Why a node does not have the phase, although it has the configuration: it does not accept a certificate of the new
 * authority; once that issues, it does not show one of it; or, at the end, it still accepts one of the former. Undefined if
 * all is well.
 */
export async function findMachineProblem(
  services: MachineVerificationServices,
  cluster: RotatedAuthority,
  machine: Machine,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { rotation, bundle, ref } = cluster;
  const { name } = machine.metadata;
  const bundles: VerifyingBundles = {
    accepted: verificationBundle(bundle, rotation),
    refused: rotation.phase === 'remove' ? formerBundle(bundle, rotation) : undefined,
  };
  if (rotation.authority === 'os') return await findNodeProblem(services, bundles, machine, signal);
  if (!services.nodes.isReady(ref, name)) return `The Node ${name} is not Ready.`;
  // A kubelet restarts with the authorities, and its Node says whether it is back.
  if (machine.spec.role !== 'controlplane') return undefined;
  return await findApiServerProblem(services, bundles, controlPlaneOf(services, ref, machine, signal));
}

interface VerifyingBundles {
  readonly accepted: SecretsBundle;
  /** Undefined as long as the former authority is accepted. */
  readonly refused: SecretsBundle | undefined;
}

async function findNodeProblem(
  { targets }: MachineVerificationServices,
  { accepted, refused }: VerifyingBundles,
  { metadata: { name }, status }: Machine,
  signal: AbortSignal,
): Promise<string | undefined> {
  const address = status?.address;
  if (!address) return `The address of ${name} is not known.`;
  const ask = async (bundle: SecretsBundle): Promise<unknown> => {
    const node = targets.talosWith(bundle, address);
    return await failureOf(node.version({ signal, seconds: callSeconds }), signal).finally(() => node.close());
  };
  const failure = await ask(accepted);
  if (failure !== undefined) return `${name} does not answer with the new Talos CA: ${describe(failure)}`;
  // A refused certificate looks like a node that is away, and it has just answered.
  if (refused && (await ask(refused)) === undefined)
    return `${name} still accepts certificates of the former Talos CA.`;
  return undefined;
}

async function findApiServerProblem(
  { targets }: MachineVerificationServices,
  { accepted, refused }: VerifyingBundles,
  controlPlane: ControlPlane,
): Promise<string | undefined> {
  const { machine, address, signal } = controlPlane;
  const { name } = machine.metadata;
  const unhealthy = await findHealthProblem(controlPlane);
  if (unhealthy !== undefined) return `${name}: ${unhealthy}.`;
  const pod = await queryNode(controlPlane, (node) => findApiServerPod(node, controlPlane));
  if (!pod || 'kind' in pod) return `${name}: it has no API server yet.`;
  const url = `https://${toAuthority(address, pod.port)}`;
  const ask = async (bundle: SecretsBundle): Promise<unknown> => {
    const client = await targets.nodeClientWith(bundle, url);
    return await failureOf(client.get(Namespace, { name: 'kube-system' }, signal), signal).finally(() =>
      client.close(),
    );
  };
  const failure = await ask(accepted);
  if (failure !== undefined)
    return `The API server of ${name} does not answer with the new Kubernetes CA: ${describe(failure)}`;
  if (!refused) return undefined;
  const rejection = await ask(refused);
  // With anonymous requests, a certificate that is not accepted is as good as none.
  if (isUnauthorized(rejection) || isForbidden(rejection)) return undefined;
  return rejection === undefined
    ? `The API server of ${name} still accepts certificates of the former Kubernetes CA.`
    : `The API server of ${name} does not answer: ${describe(rejection)}`;
}

/** The error of a call; undefined if it succeeds. Throws if the reconcile is over, or for a bug. */
async function failureOf(call: Promise<unknown>, signal: AbortSignal): Promise<unknown> {
  try {
    await call;
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ProviderError || error instanceof KubeError) return error;
    throw error;
  }
}

const describe = (failure: unknown): string => (failure as Error).message.slice(0, 300);
