import { buildCrds } from '../../../src/api/crd.ts';
import { installCrds } from '../../../src/commands/install/install-crds.ts';
import { KubeClient } from '../../../src/kube/client/client.ts';
import { createApiServerConnection } from '../../../src/kube/transport/api-server-connection.ts';
import { Transport } from '../../../src/kube/transport/transport.ts';
import { noLog } from '../../../src/lib/log.ts';
import { SecretString } from '../../../src/lib/secret-string.ts';
import { issueTestServingCertificate, newTokenKey } from '../../world/kube/auth/certificates.ts';
import { startKubeServer } from '../../world/kube/server.ts';
import { ManualClock } from '../manual-clock.ts';

const token = 'admin-token';
const host = '127.0.0.1';

export interface KubeWithCrds {
  /** An administrator. */
  readonly kube: KubeClient;
  close(): Promise<void>;
}

/** A simulated API server with the provider's CRDs, and `others`. */
export async function startKubeWithCrds(others: ReturnType<typeof buildCrds> = []): Promise<KubeWithCrds> {
  const { ca, ...serving } = await issueTestServingCertificate(host);
  const server = await startKubeServer({
    ...{ host, port: 0, serving },
    serviceAccount: { privateKey: newTokenKey(), issuer: 'https://kubernetes.default.svc' },
    tokens: { [token]: { user: 'admin', groups: ['system:masters'] } },
  });
  const transport = new Transport(
    createApiServerConnection({ server: server.url, ca, token: new SecretString(token) }),
  );
  const kube = new KubeClient(transport, { fieldManager: 'test', deadlineSeconds: 10 });
  const { signal } = new AbortController();
  const crds = [...buildCrds(), ...others];
  await installCrds({ client: kube, crds, clock: new ManualClock(), log: noLog, signal, timeoutSeconds: 10 });
  const close = async () => {
    await kube.close();
    await server.close();
  };
  return { kube, close };
}
