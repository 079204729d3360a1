import type { ConnectRouter, ServiceImpl } from '@connectrpc/connect';
import { afterEach, beforeAll } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import type { ProviderError } from '../../src/lib/errors.ts';
import { openTalosClient, type TalosClient } from '../../src/talos/client/client.ts';
import { State } from '../../src/talos/gen/cosi_pb.ts';
import { MachineService } from '../../src/talos/gen/machine_pb.ts';
import type { KeyPair } from '../../src/talos/secrets/certificates.ts';
import { createTalosCredentials, type TalosCredentials } from '../../src/talos/secrets/client-credentials.ts';
import type { SecretsBundle } from '../../src/talos/secrets/secrets-bundle.ts';
import { exampleSecretsBundle } from './example-config.ts';
import { issueServerCertificate, startTalosNodeServer, type TalosNodeServer } from './node-server.ts';

type Services = {
  machine: Partial<ServiceImpl<typeof MachineService>>;
  state: Partial<ServiceImpl<typeof State>>;
};

/** Nodes of one cluster and clients of them, which are closed after each test. */
export class NodeServers {
  bundle!: SecretsBundle;
  credentials!: TalosCredentials;
  leaf!: KeyPair;
  readonly #opened: { close(): unknown }[] = [];

  constructor() {
    beforeAll(async () => {
      this.bundle = await exampleSecretsBundle();
      this.credentials = createTalosCredentials(this.bundle, systemClock);
      this.leaf = await issueServerCertificate(this.bundle.authorities.os);
    });
    afterEach(async () => {
      for (const one of this.#opened.splice(0).reverse()) await one.close();
    });
  }

  closeAfterTest<T extends { close(): unknown }>(one: T): T {
    this.#opened.push(one);
    return one;
  }

  async start(machine: Services['machine'], state: Services['state'] = {}, port?: number): Promise<TalosNodeServer> {
    const routes = (router: ConnectRouter) => router.service(MachineService, machine).service(State, state);
    const identity = { leaf: this.leaf, clientCa: this.credentials.ca };
    return this.closeAfterTest(await startTalosNodeServer(routes, { ...identity, ...(port && { port }) }));
  }

  connect({ port }: { readonly port: number }, deadlineSeconds = 5): TalosClient {
    const { credentials } = this;
    return this.closeAfterTest(openTalosClient({ address: '127.0.0.1', port, credentials, deadlineSeconds }));
  }
}

/** The error of a call that must fail. */
export async function failureOf(call: Promise<unknown>): Promise<ProviderError> {
  try {
    await call;
  } catch (error) {
    return error as ProviderError;
  }
  throw new Error('the call did not fail');
}
