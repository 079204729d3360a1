import type { SecretString } from '../lib/secret-string.ts';
import type { Closable } from './connection.ts';

/**
 * The Talos API of a machine that waits for its configuration. The machine proves nothing about its identity: the
 * caller has to know by other means that no other machine can answer at the address. Every call throws
 * TALOS_UNREACHABLE while nothing answers.
 */
export interface MaintenanceClient extends Closable {
  /**
   * The machine's stage: `maintenance` while it waits, `configured` once it only answers clients with a certificate of
   * its own cluster, else as Talos names it. Throws TALOS_FOREIGN_NODE when it belongs to another cluster.
   */
  stage(): Promise<string>;
  /** MAC addresses of its network cards, in lower case with colons. */
  macs(): Promise<readonly string[]>;
  /**
   * Applies the machine configuration. Throws TALOS_CONFIG_REFUSED when it is invalid there, and
   * TALOS_PERMISSION_DENIED when the node already has a configuration and is about to close the maintenance API. A node
   * that was written as an image continues without a reboot; a worker then answers no client until a control plane has
   * signed its certificate.
   */
  apply(config: SecretString): Promise<void>;
}

/** A machine that may have joined its cluster. Client and machine authenticate each other by certificate. */
export interface ClusterNodeClient {
  /** Whether the machine answers as a node of its cluster. */
  answers(): Promise<boolean>;
  /**
   * Stops its services in order and reboots through the firmware, which is free to boot something else. The call only
   * accepts the request: minutes may pass until the machine goes down. Throws a ProviderError when the machine refuses
   * or does not answer.
   */
  restart(): Promise<void>;
}
