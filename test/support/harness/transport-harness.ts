import { expect, onTestFinished } from 'vitest';
import { KubeError } from '../../../src/kube/errors.ts';
import {
  type ApiServerConnection,
  createApiServerConnection,
} from '../../../src/kube/transport/api-server-connection.ts';
import { Transport } from '../../../src/kube/transport/transport.ts';
import { SecretString } from '../../../src/lib/secret-string.ts';
import { type ScriptedHttpServer, startScriptedHttpServer } from './scripted-http-server.ts';

/** A server with the given responses, which closes at the end of the test. */
export async function startTestServer(
  handle: Parameters<typeof startScriptedHttpServer>[0],
): Promise<ScriptedHttpServer> {
  const server = await startScriptedHttpServer(handle);
  onTestFinished(() => server.close());
  return server;
}

/** A transport, which closes at the end of the test. */
export function openTransport(
  connection: ApiServerConnection,
  options: ConstructorParameters<typeof Transport>[1] = {},
): Transport {
  const transport = new Transport(connection, options);
  onTestFinished(() => transport.close());
  return transport;
}

export const connectionToUrl = (url: string) =>
  createApiServerConnection({ server: url, token: new SecretString('t0p-secret') });

/** The error of a call that must fail without revealing the token. */
export async function kubeErrorOf(call: Promise<unknown>): Promise<KubeError> {
  const error = await call.then(
    () => undefined,
    (e: unknown) => e,
  );
  if (!(error instanceof KubeError)) throw new Error(`expected a KubeError, got ${String(error)}`);
  expect(error.message).not.toContain('t0p-secret');
  return error;
}
