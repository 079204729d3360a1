import { definePlatformErrors, type ErrorCode, type ErrorCodeInfo } from '../../lib/errors.ts';

/** The error codes of Hetzner Robot and the rescue system of its servers. */
export const robotErrorCodes = {
  ROBOT_UNREACHABLE: { retry: 'backoff', message: 'Hetzner Robot could not be reached, or did not answer.' },
  ROBOT_UNAVAILABLE: { retry: 'backoff', message: 'Hetzner Robot is temporarily unavailable.' },
  ROBOT_TLS_UNTRUSTED: {
    retry: 'after-change',
    message:
      'The certificate of Hetzner Robot is not trusted. Check hetznerRobot.caBundle, and for a proxy that intercepts TLS.',
  },
  ROBOT_OUTCOME_UNKNOWN: {
    retry: 'backoff',
    message:
      'The connection to Hetzner Robot ended before the response. The next attempt verifies the result of the call.',
  },
  ROBOT_CREDENTIALS_REFUSED: {
    retry: 'after-change',
    message:
      'Hetzner Robot rejected the webservice user or its password. Correct the Secret; until then this process sends no further requests. Every command that you start logs in again: three failed logins within ten minutes block this IP address.',
  },
  ROBOT_LOGIN_POSTPONED: {
    retry: 'backoff',
    message:
      'Logins at Hetzner Robot failed, and another one could block this IP address. The next attempt is made later.',
  },
  ROBOT_FORBIDDEN: {
    retry: 'backoff',
    message: 'Hetzner Robot blocks this IP address. Failed logins block it for ten minutes.',
  },
  ROBOT_RATE_LIMITED: {
    retry: 'backoff',
    message: 'The rate limit of Hetzner Robot for this call is reached.',
  },
  ROBOT_BUDGET_SPENT: {
    retry: 'backoff',
    message: 'The hourly budget for this kind of Hetzner Robot calls is used up.',
  },
  ROBOT_BUSY: { retry: 'backoff', message: 'Other Hetzner Robot calls have priority.' },
  ROBOT_SERVER_NOT_LISTED: {
    retry: 'after-change',
    message: 'Neither a Host nor the configuration names this resource, so it is not accessed.',
  },
  ROBOT_CALL_FORBIDDEN: { retry: 'bug', message: 'This call is not permitted in this provider.' },
  ROBOT_SERVER_UNKNOWN: {
    retry: 'after-change',
    message: 'The Hetzner account has no such server. Correct the Host.',
  },
  ROBOT_NOT_FOUND: { retry: 'backoff', message: 'The resource does not exist in Hetzner Robot.' },
  ROBOT_NOT_AVAILABLE: { retry: 'after-change', message: 'Hetzner Robot does not offer this for the server.' },
  ROBOT_RESET_MANUAL_ACTIVE: {
    retry: 'after-change',
    message: 'A manual reset of the server is pending at Hetzner. Other resets are not possible until it is done.',
  },
  ROBOT_IN_PROCESS: { retry: 'backoff', message: 'Hetzner Robot is still processing an earlier change.' },
  ROBOT_BOOT_ALREADY_ACTIVE: {
    retry: 'backoff',
    message: 'Another boot configuration of the server is active and must be deactivated first.',
  },
  ROBOT_CONFLICT: {
    retry: 'after-change',
    message: 'Hetzner Robot rejected the request because of a conflict.',
  },
  ROBOT_LIMIT_REACHED: { retry: 'after-change', message: 'A limit of Hetzner Robot is reached.' },
  ROBOT_REFUSED: { retry: 'after-change', message: 'Hetzner Robot rejected a value.' },
  ROBOT_CALL_FAILED: { retry: 'backoff', message: 'A call to Hetzner Robot failed.' },
  ROBOT_REPLY_UNKNOWN: { retry: 'bug', message: 'The response of Hetzner Robot has an unknown format.' },
  SSH_KEY_INVALID: {
    retry: 'after-change',
    message:
      'The key sshPrivateKey of the Secret in hetznerRobot.credentialsRef cannot be used. It must be a private key in OpenSSH format without a passphrase.',
  },
  RESCUE_UNREACHABLE: { retry: 'backoff', message: 'The rescue system of the server does not answer.' },
  RESCUE_LOGIN_REFUSED: {
    retry: 'backoff',
    message: 'The SSH server at the address of the server rejects our key.',
  },
  RESCUE_HOST_KEY_CHANGED: {
    retry: 'after-change',
    message: 'The SSH host key at the address of the server changed without a reboot by this provider.',
  },
  RESCUE_FOREIGN_SYSTEM: {
    retry: 'backoff',
    message: 'The system that answers SSH at the address of the server is not its rescue system.',
  },
  RESCUE_COMMAND_FAILED: { retry: 'backoff', message: 'A command in the rescue system failed.' },
  RESCUE_DISK_CHANGED: {
    retry: 'after-change',
    message: 'A disk of the server is missing or differs from the last inspection. Nothing is written.',
  },
  RESCUE_DISK_BUSY: {
    retry: 'after-change',
    message: 'A disk is in use in the rescue system. Nothing more is written.',
  },
  RESCUE_DISK_SHARED: {
    retry: 'after-change',
    message:
      'A disk shares an array or a volume group with disks that must not be erased. Name them in rootDisk.raidMembers of the Host, or dissolve the array.',
  },
  RESCUE_DISK_TOO_SMALL: {
    retry: 'after-change',
    message: 'The image does not fit onto the disk. Choose a larger one in rootDisk of the Host.',
  },
  RESCUE_DISK_UNSUITABLE: {
    retry: 'after-change',
    message:
      'Talos images need sectors of 512 bytes. Reformat the disk, or choose another one in rootDisk of the Host.',
  },
  RESCUE_WIPE_INCOMPLETE: { retry: 'backoff', message: 'A disk still has content after it was erased.' },
  RESCUE_IMAGE_UNREACHABLE: {
    retry: 'backoff',
    message: 'The rescue system could not download the image. Check that servers can reach talos.factoryUrl.',
  },
  RESCUE_IMAGE_TRUNCATED: { retry: 'backoff', message: 'The download of the image was truncated.' },
  RESCUE_IMAGE_WRONG: {
    retry: 'after-change',
    message: 'The downloaded image is not the expected one. Check hetznerRobot.image and talos.factoryUrl.',
  },
  RESCUE_WRITE_DIFFERS: {
    retry: 'after-change',
    message: 'A disk does not return the written data. Have it replaced.',
  },
  RESCUE_BOOT_ORDER_REFUSED: {
    retry: 'after-change',
    message: 'The firmware of the server does not keep network boot first in its boot order.',
  },
} as const satisfies Record<string, ErrorCodeInfo>;

export type HetznerRobotErrorCode = keyof typeof robotErrorCodes | ErrorCode;

/** A failure with a code of Hetzner Robot and the rescue system of its servers, or a shared one. */
export const HetznerRobotError = definePlatformErrors(robotErrorCodes);
