import type { ClusterIdentity } from '../../../src/api/cluster-identity.ts';
import { diskKeyOf } from '../../../src/controllers/shared/secrets/disk-keys.ts';
import type { MachineDiskKey } from '../../../src/engine/machine-disk-key.ts';
import type { Secret } from '../../../src/kube/core-types.ts';
import { KubeError } from '../../../src/kube/errors.ts';

/** The part of a platform cluster that stores disk keys. It outlives a process. */
export class FakeDiskKeyStore {
  readonly secrets = new Map<string, Secret>();
  /** The calls, e.g. `create shop-cp-0-disk-key`. */
  readonly calls: string[] = [];
  /** Called right before a key is created. */
  meanwhile: () => unknown = () => undefined;

  of(machine: string, signal = new AbortController().signal, cluster?: ClusterIdentity): MachineDiskKey {
    const find = async (_: unknown, { name }: { name: string }) => {
      this.calls.push(`find ${name}`);
      return structuredClone(this.secrets.get(name));
    };
    const kube = {
      find,
      get: find,
      create: async (_: unknown, secret: Secret) => {
        this.calls.push(`create ${secret.metadata.name}`);
        this.meanwhile();
        if (this.secrets.has(secret.metadata.name)) throw alreadyThere;
        this.secrets.set(secret.metadata.name, structuredClone(secret));
        return secret;
      },
      remove: async (_: unknown, { name }: { name: string }) => {
        this.calls.push(`remove ${name}`);
        this.secrets.delete(name);
      },
    };
    const secrets = { get: ({ name }: { name: string }) => this.secrets.get(name) };
    const simulator = { kube, stores: { secrets }, namespace: 'openmcp-system', provider: 'talos' };
    return diskKeyOf(simulator as unknown as Parameters<typeof diskKeyOf>[0], machine, signal, cluster);
  }
}

const alreadyThere = new KubeError({ status: 409, reason: 'AlreadyExists', message: 'it is there' });
