import { CallInterceptor } from '../../world/faults/call-interceptor.ts';
import { createKubeAuthority, newTokenKey } from '../../world/kube/auth/certificates.ts';
import { createKubeStore, type KubeStore, startKubeServer } from '../../world/kube/server.ts';

interface SimulatedServerOptions {
  readonly store?: KubeStore;
  readonly switchboard?: CallInterceptor;
}

/** A simulated API server in this process. Each token is that of an administrator. */
export async function startSimulatedServer(
  tokens: readonly string[],
  { store = createKubeStore(), switchboard = new CallInterceptor() }: SimulatedServerOptions = {},
) {
  const authority = await createKubeAuthority();
  const options = {
    host: '127.0.0.1',
    ...{ store, switchboard },
    serving: await authority.issueServer(['127.0.0.1']),
    clientCa: authority.cert,
    serviceAccount: { privateKey: newTokenKey(), issuer: 'https://kubernetes.default.svc' },
    tokens: Object.fromEntries(tokens.map((token) => [token, { user: 'admin', groups: ['system:masters'] }])),
  };
  let server = await startKubeServer({ ...options, port: 0 });
  const { url } = server;
  return {
    ...{ url, authority, switchboard },
    close: () => server.close(),
    /** Starts it again at the same address after {@link close}. */
    reopen: async () => {
      server = await startKubeServer({ ...options, port: Number(new URL(url).port) });
    },
  };
}
