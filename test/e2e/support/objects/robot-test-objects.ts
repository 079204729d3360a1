import { readFile } from 'node:fs/promises';
import { Host } from '../../../../src/api/host.ts';
import { group, version } from '../../../../src/api/names.ts';
import { ProviderConfig } from '../../../../src/api/provider-config.ts';
import { metalImageChecksum } from '../../../support/fixtures/metal-image-checksum.ts';
import { makeSshKey } from '../../../world/robot/setup/ssh-key.ts';
import type { Testbed } from '../testbed/testbed.ts';
import type { ProviderConfigOverrides, RawProviderConfigSpec } from './test-objects.ts';

/**
 * Name of the Secret with the login to the testbed's Robot account, and of the one ssh key that opens its rescue
 * systems.
 */
export const robotCredentialsName = 'robot';

/** Objects that users write to get clusters on the testbed's bare servers. */
export class RobotTestObjects {
  readonly #testbed: Testbed;
  readonly #key: ReturnType<typeof makeSshKey>;
  readonly #caBundle: string;
  readonly #imageSum: string;

  private constructor(testbed: Testbed, caBundle: string, imageSum: string, key = makeSshKey()) {
    this.#key = key;
    this.#testbed = testbed;
    this.#caBundle = caBundle;
    this.#imageSum = imageSum;
  }

  static async on(testbed: Testbed): Promise<RobotTestObjects> {
    const { robot } = testbed.world;
    const nothing = { extensions: [], kernelArguments: [] };
    const imageSum = metalImageChecksum('1.13.9', nothing);
    return new RobotTestObjects(testbed, await readFile(robot.line.ca ?? '', 'utf8'), imageSum);
  }

  /** The same account and key on another platform cluster. */
  movedTo(testbed: Testbed): RobotTestObjects {
    return new RobotTestObjects(testbed, this.#caBundle, this.#imageSum, this.#key);
  }

  async credentials(data: Record<string, string> = this.goodCredentials()): Promise<void> {
    await this.#testbed.objects.credentials(robotCredentialsName, data);
  }

  goodCredentials(): { username: string; password: string; sshPrivateKey: string } {
    const { user = '', password = '' } = this.#testbed.world.robot.line.credentials;
    return { username: user, password, sshPrivateKey: this.#key.private };
  }

  /** A Host for a server of the simulator, with the server's actual location. */
  async host(number: number, spec: Record<string, unknown> = {}, labels: Record<string, string> = {}): Promise<Host> {
    const { address } = this.#testbed.world.robot.server(number);
    return await this.#testbed.platform.create(Host, {
      apiVersion: `${group}/${version}`,
      kind: 'Host',
      metadata: { name: `server-${number}`, labels },
      spec: {
        ...{ serverID: `${number}`, hetznerRobot: {}, expect: { address: address ?? undefined } },
        ...spec,
      } as never,
    });
  }

  async getHost(number: number): Promise<Host> {
    return await this.#testbed.platform.get(Host, { name: `server-${number}` });
  }

  /** The spec of a valid ProviderConfig. */
  configSpec(words: ProviderConfigOverrides = {}): RawProviderConfigSpec {
    const { change, ...rest } = words;
    const { truenas: _, ...spec } = this.#testbed.objects.configSpec(rest);
    const { addressPool: __, prefix: ___, gateway: ____, ...network } = spec.network as Record<string, unknown>;
    const { url, credentials } = this.#testbed.world.robot.line;
    const made = {
      ...spec,
      talos: { ...spec.talos, extensions: [] },
      network,
      hetznerRobot: {
        url,
        caBundle: this.#caBundle,
        credentialsRef: { name: robotCredentialsName },
        sshPort: Number(credentials['sshPort']),
        image: { sha256: this.#imageSum },
        sizes: [{ name: 'small', hostSelector: {} }],
      },
    } as unknown as RawProviderConfigSpec;
    change?.(made);
    return made;
  }

  async config(name: string, words: ProviderConfigOverrides = {}): Promise<ProviderConfig> {
    return await this.#testbed.platform.create(ProviderConfig, {
      apiVersion: `${group}/${version}`,
      kind: 'ProviderConfig',
      metadata: { name },
      spec: this.configSpec(words) as unknown as ProviderConfig['spec'],
    });
  }
}
