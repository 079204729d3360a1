import { onTestFinished } from 'vitest';
import { type RawClient, startTrueNasFixture, type TrueNasFixture } from './true-nas-fixture.ts';

/** A path, a sentence and an errno. */
type Refusal = readonly [path: string | null, message: string, errno: number];

/** A simulator with a client that is logged in. It ends with the test. */
export interface OpenTrueNas {
  readonly nas: TrueNasFixture;
  readonly client: RawClient;
  /** The `reason` of the refused call. */
  reason(method: string, ...params: unknown[]): Promise<string | undefined>;
  /** The refused arguments of the call. */
  refusals(method: string, ...params: unknown[]): Promise<readonly Refusal[] | undefined>;
  /** Uploads a file and returns the ended job. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came back
  put(path: string, content: string | Buffer, options?: object): Promise<any>;
  /** A machine with these devices; its number. */
  vm(row: object, ...devices: object[]): Promise<number>;
}

export async function openTrueNas(options: Parameters<typeof startTrueNasFixture>[0] = {}): Promise<OpenTrueNas> {
  const nas = await startTrueNasFixture(options);
  onTestFinished(() => nas.close());
  const client = await nas.login();
  return {
    nas,
    client,
    reason: async (method, ...params) => (await client.ask(method, ...params)).error?.data?.reason,
    refusals: async (method, ...params) => (await client.ask(method, ...params)).error?.data?.extra,
    put: async (path, content, more = {}) =>
      client.jobEnd(JSON.parse((await nas.upload(path, content, more)).text).job_id),
    vm: async (row, ...devices) => {
      const { id } = await client.call('vm.create', { name: 'a', memory: 512, ...row });
      for (const attributes of devices) await client.call('vm.device.create', { vm: id, attributes });
      return id;
    },
  };
}
