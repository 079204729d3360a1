import type { SecretString } from '../lib/secret-string.ts';
import type { Closable } from './platform.ts';

/**
 * The Talos API of a machine that waits for its configuration, and proves nothing about itself: whoever hands it one has to
 * know by other means that nobody else can answer under the address. Every call throws TALOS_UNREACHABLE while nothing answers.
 */
export interface MaintenanceClient extends Closable {
  /**
   * Where the node is in its life: `maintenance` when it waits, `configured` once it only answers those who have a
   * certificate of the machine's own cluster, else as Talos names it. Throws TALOS_FOREIGN_NODE when it belongs to another.
   */
  stage(): Promise<string>;
  /** MAC addresses of its network cards, in lower case with colons. */
  macs(): Promise<readonly string[]>;
  /**
   * Hands in the machine configuration. Throws TALOS_CONFIG_REFUSED when it is not valid there, and TALOS_PERMISSION_DENIED
   * when the node has taken one already and is about to close. A node that was written as an image goes on without a reboot;
   * a worker then answers nobody until a control plane has signed its certificate.
   */
  apply(config: SecretString): Promise<void>;
}

/** A machine that may be a node of its cluster by now; both prove so to each other by their certificates. */
export interface ClusterNodeClient {
  /** Whether it answers as one. */
  answers(): Promise<boolean>;
  /**
   * Ends what it runs, in order, and starts anew through its firmware, which is free to boot something else. It only agrees
   * to that here: minutes may pass until it goes down. Throws a ProviderError when it does not agree, or does not answer.
   */
  restart(): Promise<void>;
}
