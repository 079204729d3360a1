import { readFile } from 'node:fs/promises';
import { Host } from '../../../src/api/host.ts';
import { group, version } from '../../../src/api/names.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { metalImageSum } from '../../support/image-sum.ts';
import { makeSshKey } from '../../world/robot/ssh-key.ts';
import type { Stage } from './stage.ts';
import type { ConfigWords, RawSpec } from './things.ts';

/** Name of the Secret with the login to the stage's Robot account, and of the one ssh key that opens its rescue systems. */
export const robotCredentials = 'robot';

/** What people write to have clusters on the stage's bare servers. */
export class RobotThings {
  readonly #stage: Stage;
  readonly #key = makeSshKey();
  readonly #caBundle: string;
  readonly #imageSum: string;

  private constructor(stage: Stage, caBundle: string, imageSum: string) {
    this.#stage = stage;
    this.#caBundle = caBundle;
    this.#imageSum = imageSum;
  }

  static async on(stage: Stage): Promise<RobotThings> {
    const { robot } = stage.world;
    const nothing = { extensions: [], kernelArguments: [] };
    const imageSum = metalImageSum('1.13.9', nothing);
    return new RobotThings(stage, await readFile(robot.line.ca ?? '', 'utf8'), imageSum);
  }

  async credentials(data: Record<string, string> = this.goodCredentials()): Promise<void> {
    await this.#stage.things.credentials(robotCredentials, data);
  }

  goodCredentials(): { username: string; password: string; sshPrivateKey: string } {
    const { user = '', password = '' } = this.#stage.world.robot.line.credentials;
    return { username: user, password, sshPrivateKey: this.#key.private };
  }

  /** A Host for a server of the room, which expects it where it is. */
  async host(number: number, spec: Record<string, unknown> = {}, labels: Record<string, string> = {}): Promise<Host> {
    const { address } = this.#stage.world.robot.server(number);
    return await this.#stage.platform.create(Host, {
      apiVersion: `${group}/${version}`,
      kind: 'Host',
      metadata: { name: `server-${number}`, labels },
      spec: { serverNumber: number, expect: { address: address ?? undefined }, ...spec } as never,
    });
  }

  async getHost(number: number): Promise<Host> {
    return await this.#stage.platform.get(Host, { name: `server-${number}` });
  }

  /** The spec of a good ProviderConfig. */
  configSpec(words: ConfigWords = {}): RawSpec {
    const { change, ...rest } = words;
    const { truenas: _, ...spec } = this.#stage.things.configSpec(rest);
    const { addressPool: __, prefix: ___, gateway: ____, ...network } = spec.network as Record<string, unknown>;
    const { url, credentials } = this.#stage.world.robot.line;
    const made = {
      ...spec,
      talos: { ...spec.talos, extensions: [] },
      network,
      hetznerRobot: {
        url,
        caBundle: this.#caBundle,
        credentialsRef: { name: robotCredentials },
        sshPort: Number(credentials['sshPort']),
        image: { sha256: this.#imageSum },
        sizes: [{ name: 'small', hostSelector: {} }],
      },
    } as unknown as RawSpec;
    change?.(made);
    return made;
  }

  async config(name: string, words: ConfigWords = {}): Promise<ProviderConfig> {
    return await this.#stage.platform.create(ProviderConfig, {
      apiVersion: `${group}/${version}`,
      kind: 'ProviderConfig',
      metadata: { name },
      spec: this.configSpec(words) as unknown as ProviderConfig['spec'],
    });
  }
}
