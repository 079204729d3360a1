import { request } from 'node:https';
import { clientAuth, issueLeaf } from '../../../world/talos/certificates/pki.ts';
import { sharedTestSecrets } from './test-cluster.ts';
import type { TestSecrets } from './test-config.ts';

/** A request to an API server as the administrator; undefined without an answer of success. */
export type KubeRequest = (method: string, path: string, body?: unknown) => Promise<unknown>;

/** Access to the API server of a node. Default: with the secrets of the test cluster. */
export async function openKube(address: string, secrets?: Pick<TestSecrets, 'kubernetes'>): Promise<KubeRequest> {
  const { kubernetes } = secrets ?? (await sharedTestSecrets());
  const who = { commonName: 'admin', organizations: ['system:masters'], usages: [clientAuth], hours: 1 };
  const { cert, key } = await issueLeaf(kubernetes.authority, who);
  const target = { host: address, port: 6443, ca: kubernetes.authority.pem, cert, key, agent: false } as const;
  return (method, path, body) =>
    new Promise((resolve) => {
      const headers = { 'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' };
      const call = request({ ...target, method, path, headers }, (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('end', () => {
          const isSuccess = Math.floor((answer.statusCode ?? 0) / 100) === 2;
          resolve(isSuccess ? JSON.parse(Buffer.concat(chunks).toString()) : undefined);
        });
      });
      call.on('error', () => resolve(undefined));
      call.end(body === undefined ? undefined : JSON.stringify(body));
    });
}
