import { X509Certificate } from 'node:crypto';
import { fieldManager } from '../../api/names.ts';
import type { Cluster } from '../../api/openmcp/types.ts';
import { KubeError } from '../../kube/errors.ts';
import { EventRecorder } from '../../kube/event-recorder.ts';
import { formatTime } from '../../lib/text.ts';
import type { AccessSession } from './access-session.ts';
import { accessRoles } from './find-cluster-access.ts';

/** A client certificate that is about to be handed out. */
export interface IssuedCertificate {
  readonly kind: 'talosconfig' | 'kubeconfig';
  /** For the sentence "… with …", e.g. `the role os:reader`. */
  readonly rights: string;
  /** PEM. */
  readonly certificate: string;
}

/** The user of the session, as the platform cluster names them; undefined if it does not say. */
export async function findCaller({ kube, signal }: AccessSession): Promise<string | undefined> {
  try {
    return (await kube.reviewSelf(signal)).username;
  } catch (error) {
    // Kubernetes before 1.28 does not know the review, and a user without groups may not create it.
    if (error instanceof KubeError) return undefined;
    throw error;
  }
}

/** The subject of a sentence about what the user did. */
export const describeCaller = (caller: string | undefined): string =>
  caller === undefined ? 'A user' : `User ${caller}`;

/** Records an Event about a certificate. The fingerprint is the one that the API server writes to its audit log. */
export async function recordIssue(
  session: AccessSession,
  cluster: Cluster,
  caller: string | undefined,
  issued: IssuedCertificate,
): Promise<void> {
  const { fingerprint256, validTo } = new X509Certificate(issued.certificate);
  const fingerprint = fingerprint256.replaceAll(':', '').toLowerCase();
  const until = formatTime(new Date(validTo));
  const reason = issued.kind === 'talosconfig' ? 'TalosconfigIssued' : 'KubeconfigIssued';
  const message = `${describeCaller(caller)} issued a ${issued.kind} with ${issued.rights}, valid until ${until} (SHA-256 ${fingerprint}).`;
  await recordOnCluster(session, cluster, { reason, message });
}

/**
 * Records an Event on the Cluster. A user who may not create Events gets what they asked for all the same: who can read the
 * Secret can have it without this program.
 */
export async function recordOnCluster(
  { kube, clock, log, signal }: AccessSession,
  cluster: Cluster,
  { reason, message }: { readonly reason: string; readonly message: string },
): Promise<void> {
  const { namespace = '', name } = cluster.metadata;
  const isAllowed = await kube
    .reviewAccess({ verb: 'create', resource: 'events', namespace }, signal)
    .catch((error: unknown) => error instanceof KubeError);
  if (!isAllowed) {
    const remedy = `your user may not create Events in namespace ${namespace}; the ClusterRole ${accessRoles.name} of ${accessRoles.file} allows it`;
    log.warn({ cluster: `${namespace}/${name}` }, `no Event is recorded: ${remedy}`);
    return;
  }
  const events = new EventRecorder({ client: kube, clock, log, component: fieldManager, signal });
  events.record(cluster, 'Normal', reason, message);
  await events.close();
}
