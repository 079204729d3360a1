import type { PlatformContext, StepContext } from '../contexts.ts';
import type { HostClaim, HostSchemas, HostServer, HostStatusUpdate, HostView } from '../host.ts';
import type { NodeSpec } from '../node.ts';
import type { Facts, Step } from '../step.ts';

/** The context of the steps of a Host's own tasks, without a machine or a cluster. */
export type HostContext<C = unknown> = Pick<
  StepContext<C>,
  'config' | 'credentials' | 'owner' | 'connections' | 'log' | 'clock' | 'signal'
> & {
  readonly host: HostView;
  /** The facts of earlier steps of this task. */
  readonly facts: Facts;
  /** IDs of all servers of this platform that have a Host. */
  hostedServers(): ReadonlySet<string>;
  /** Writes to the status of the Host. */
  updateStatus(change: HostStatusUpdate): Promise<void>;
  /** The boot id of the machine that holds it; undefined: no machine holds it, or it does not answer. */
  bootId(): Promise<string | undefined>;
};

/** A server of an account, whether it has a Host or not. */
export interface AccountServer {
  readonly id: string;
  /** The name that the account's owner gave it; may be empty. */
  readonly name: string;
  readonly address: string | undefined;
  readonly product: string;
  readonly location: string;
  /** Sentences about oddities to know before the provider uses it. */
  readonly warnings: readonly string[];
}

/** The account whose servers are listed, before a ProviderConfig exists. */
export type AccountContext = Omit<PlatformContext, 'config'> & {
  /** Name of the Secret. */
  readonly credentialsName: string;
  /** Default: the public URL of the server provider. */
  readonly url?: string | undefined;
  /** PEM. Default: the public certificate authorities. */
  readonly caBundle?: string | undefined;
};

/** The capability of a platform whose machines are user-owned servers. */
export interface HostInventory<C> {
  readonly schemas: HostSchemas;
  /** Whether a ProviderConfig with this section may claim a Host with these labels. */
  mayClaim(config: C, labels: Readonly<Record<string, string>>): boolean;
  /** Why a Host does not fit such a node, in the form of the reason in {@link HostClaim.claim}; undefined: it fits. */
  whyUnsuitable(config: C, host: HostView, node: Pick<NodeSpec, 'role' | 'size'>): string | undefined;
  /** Why no machine at all can use a Host, in a sentence, judged by its last inspection; undefined: it is usable. */
  whyUnusable(host: HostView): string | undefined;
  /** Read-only, and one call: all servers of an account. */
  listServers(account: AccountContext): Promise<readonly AccountServer[]>;
  /**
   * Read-only: the server as its provider's API describes it, or a sentence why it is not the server that the Host
   * means or is unusable. Throws when the API is unreachable.
   */
  identify(context: HostContext<C>): Promise<{ readonly server: HostServer } | { readonly refused: string }>;
  /** Inspects the hardware of an unused server. Reboots it; writes to no disk. */
  readonly inspect: readonly Step<HostContext<C>>[];
  /** Reboots a server, and verifies the reboot. */
  readonly reboot: readonly Step<HostContext<C>>[];
}
