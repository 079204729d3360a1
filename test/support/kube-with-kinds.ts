import { describeCrds } from '../../src/api/crd.ts';
import { installCrds } from '../../src/commands/install-crds.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { connectionTo } from '../../src/kube/connection.ts';
import { Transport } from '../../src/kube/transport.ts';
import { noLog } from '../../src/lib/log.ts';
import { Secret } from '../../src/lib/secret.ts';
import { newTokenKey, selfSigned } from '../world/kube/pki.ts';
import { startKube } from '../world/kube/server.ts';
import { ManualClock } from './manual-clock.ts';

const token = 'admin-token';
const host = '127.0.0.1';

export interface KubeWithKinds {
  /** An administrator. */
  readonly kube: KubeClient;
  close(): Promise<void>;
}

/** An API server of the world that serves our kinds, and `others` beside them. */
export async function kubeWithKinds(others: ReturnType<typeof describeCrds> = []): Promise<KubeWithKinds> {
  const { ca, ...serving } = await selfSigned(host);
  const server = await startKube({
    ...{ host, port: 0, serving },
    serviceAccount: { privateKey: newTokenKey(), issuer: 'https://kubernetes.default.svc' },
    tokens: { [token]: { user: 'admin', groups: ['system:masters'] } },
  });
  const transport = new Transport(connectionTo({ server: server.url, ca, token: new Secret(token) }));
  const kube = new KubeClient(transport, { fieldManager: 'test', deadlineSeconds: 10 });
  const { signal } = new AbortController();
  const crds = [...describeCrds(), ...others];
  await installCrds({ client: kube, crds, clock: new ManualClock(), log: noLog, signal, patienceSeconds: 10 });
  const close = async () => {
    await kube.close();
    await server.close();
  };
  return { kube, close };
}
