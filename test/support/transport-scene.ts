import { expect, onTestFinished } from 'vitest';
import { type ClusterConnection, connectionTo } from '../../src/kube/connection.ts';
import { KubeError } from '../../src/kube/errors.ts';
import { Transport } from '../../src/kube/transport.ts';
import { Secret } from '../../src/lib/secret.ts';
import { type RoughServer, roughServer } from './rough-server.ts';

/** A server that answers as it is told, until the test is over. */
export async function serve(handle: Parameters<typeof roughServer>[0]): Promise<RoughServer> {
  const server = await roughServer(handle);
  onTestFinished(() => server.close());
  return server;
}

/** A transport, until the test is over. */
export function connect(
  connection: ClusterConnection,
  options: ConstructorParameters<typeof Transport>[1] = {},
): Transport {
  const transport = new Transport(connection, options);
  onTestFinished(() => transport.close());
  return transport;
}

export const to = (url: string) => connectionTo({ server: url, token: new Secret('t0p-secret') });

/** The error of a call that has to fail, and not to show the token. */
export async function failureOf(call: Promise<unknown>): Promise<KubeError> {
  const error = await call.then(
    () => undefined,
    (e: unknown) => e,
  );
  if (!(error instanceof KubeError)) throw new Error(`expected a KubeError, got ${String(error)}`);
  expect(error.message).not.toContain('t0p-secret');
  return error;
}
