import { CallInterceptor } from '../../world/faults/call-interceptor.ts';
import { createKubeAuthority, newTokenKey } from '../../world/kube/auth/certificates.ts';
import { createKubeStore, startKubeServer } from '../../world/kube/server.ts';

/** A simulated API server in this process. Each token is that of an administrator. */
export async function startSimulatedServer(
  tokens: readonly string[],
  { store = createKubeStore(), switchboard = new CallInterceptor() } = {},
) {
  const authority = await createKubeAuthority();
  const server = await startKubeServer({
    ...{ host: '127.0.0.1', port: 0, store, switchboard },
    serving: await authority.issueServer(['127.0.0.1']),
    clientCa: authority.cert,
    serviceAccount: { privateKey: newTokenKey(), issuer: 'https://kubernetes.default.svc' },
    tokens: Object.fromEntries(tokens.map((token) => [token, { user: 'admin', groups: ['system:masters'] }])),
  });
  return { url: server.url, authority, switchboard, close: () => server.close() };
}
