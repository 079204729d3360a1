import { fieldManager } from '../../api/names.ts';
import { KubeClient } from '../../kube/client/client.ts';
import { createApiServerConnection } from '../../kube/transport/api-server-connection.ts';
import { targetClusterLimits } from '../../kube/transport/response-limits.ts';
import { Transport } from '../../kube/transport/transport.ts';
import type { SecretString } from '../../lib/secret-string.ts';
import type { ApiServerEndpoint } from '../access-request/kubeconfig.ts';
import type { Services } from '../shared/services.ts';

const probeSeconds = 15;

/**
 * Makes one authenticated request with exactly the credentials that consumers get. Every account may ask who it is, whatever
 * its role. Throws if the cluster does not accept them.
 */
export async function probeCredentials(
  { clock }: Pick<Services, 'clock'>,
  { url, ca }: ApiServerEndpoint,
  token: SecretString,
  signal: AbortSignal,
): Promise<void> {
  const connection = createApiServerConnection({ server: url, ca, token });
  const transport = new Transport(connection, { clock, limits: targetClusterLimits });
  const client = new KubeClient(transport, { fieldManager, deadlineSeconds: probeSeconds });
  try {
    await client.reviewSelf(signal);
  } finally {
    await client.close();
  }
}
