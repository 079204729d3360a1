import { definePlatformErrors, type ErrorCode, type ErrorCodeInfo } from '../../lib/errors.ts';

/** The error codes of Hetzner Robot and the rescue system of its servers. */
export const robotErrorCodes = {
  ROBOT_UNREACHABLE: { retry: 'backoff', message: 'Hetzner Robot could not be reached, or did not answer.' },
  ROBOT_UNAVAILABLE: { retry: 'backoff', message: 'Hetzner Robot is out of service for the moment.' },
  ROBOT_TLS_UNTRUSTED: {
    retry: 'after-change',
    message: 'The certificate of Hetzner Robot is not trusted. Check hetznerRobot.caBundle, and who stands in between.',
  },
  ROBOT_OUTCOME_UNKNOWN: {
    retry: 'backoff',
    message: 'The connection to Hetzner Robot ended before it answered. The next attempt looks at what became of it.',
  },
  ROBOT_CREDENTIALS_REFUSED: {
    retry: 'after-change',
    message:
      'Hetzner Robot refused the webservice user or its password. Put the right ones into the Secret: until then this process asks nothing more. Each command that is started logs in anew, and three failed logins within ten minutes lock everybody behind this address out.',
  },
  ROBOT_LOGIN_POSTPONED: {
    retry: 'backoff',
    message: 'Logins at Hetzner Robot failed, and one more could lock this address out: the next is tried later.',
  },
  ROBOT_FORBIDDEN: {
    retry: 'backoff',
    message: 'Hetzner Robot does not talk to this address. Failed logins lock one out for ten minutes.',
  },
  ROBOT_RATE_LIMITED: {
    retry: 'backoff',
    message: 'The account may not call this again for a while, by the limits of Hetzner Robot.',
  },
  ROBOT_BUDGET_SPENT: {
    retry: 'backoff',
    message: 'The calls of this kind that Hetzner Robot allows in an hour are spent.',
  },
  ROBOT_BUSY: { retry: 'backoff', message: 'Other calls to Hetzner Robot come first.' },
  ROBOT_SERVER_NOT_LISTED: {
    retry: 'after-change',
    message: 'Neither a Host object nor the configuration names this, so it is not touched.',
  },
  ROBOT_CALL_FORBIDDEN: { retry: 'bug', message: 'A call that this provider never makes.' },
  ROBOT_SERVER_UNKNOWN: {
    retry: 'after-change',
    message: 'The Hetzner account has no such server. Correct the number in the Host object.',
  },
  ROBOT_NOT_FOUND: { retry: 'backoff', message: 'Hetzner Robot does not have this.' },
  ROBOT_NOT_AVAILABLE: { retry: 'after-change', message: 'Hetzner Robot does not offer this for the server.' },
  ROBOT_RESET_MANUAL_ACTIVE: {
    retry: 'after-change',
    message: 'A technician was asked to reset the server. Until that is done nobody else can.',
  },
  ROBOT_IN_PROCESS: { retry: 'backoff', message: 'Hetzner Robot is still at work on an earlier change.' },
  ROBOT_BOOT_ALREADY_ACTIVE: {
    retry: 'backoff',
    message: 'A boot configuration of the server is active. It has to be switched off before another one can be.',
  },
  ROBOT_CONFLICT: {
    retry: 'after-change',
    message: 'Hetzner Robot refused this, because something stands against it.',
  },
  ROBOT_LIMIT_REACHED: { retry: 'after-change', message: 'Hetzner Robot does not allow more of these.' },
  ROBOT_REFUSED: { retry: 'after-change', message: 'Hetzner Robot refused a value.' },
  ROBOT_CALL_FAILED: { retry: 'backoff', message: 'A call to Hetzner Robot failed.' },
  ROBOT_REPLY_UNKNOWN: { retry: 'bug', message: 'Hetzner Robot answered in a shape that we do not know.' },
  SSH_KEY_INVALID: {
    retry: 'after-change',
    message:
      'The key sshPrivateKey of the Secret in hetznerRobot.credentialsRef cannot be used. It has to be a private key in OpenSSH form without a passphrase.',
  },
  RESCUE_UNREACHABLE: { retry: 'backoff', message: 'The rescue system of the server does not answer.' },
  RESCUE_LOGIN_REFUSED: {
    retry: 'backoff',
    message: 'What answers SSH at the address of the server does not let our key in.',
  },
  RESCUE_HOST_KEY_CHANGED: {
    retry: 'after-change',
    message:
      'What answers SSH at the address of the server is another system than before, though it was not rebooted by us.',
  },
  RESCUE_FOREIGN_SYSTEM: {
    retry: 'backoff',
    message: 'What answers SSH at the address of the server is not its rescue system.',
  },
  RESCUE_COMMAND_FAILED: { retry: 'backoff', message: 'A command in the rescue system failed.' },
  RESCUE_DISK_CHANGED: {
    retry: 'after-change',
    message: 'A disk of the server is not there as it was found before, so nothing is written.',
  },
  RESCUE_DISK_BUSY: {
    retry: 'after-change',
    message: 'A disk is in use within the rescue system, so nothing more is written.',
  },
  RESCUE_DISK_SHARED: {
    retry: 'after-change',
    message:
      'A disk forms an array or a volume group with others that are not to be erased. Name them in rootDisk.raidMembers of the Host, or take them apart.',
  },
  RESCUE_DISK_TOO_SMALL: {
    retry: 'after-change',
    message: 'The image does not fit onto the disk. Choose a larger one in rootDisk of the Host.',
  },
  RESCUE_DISK_UNSUITABLE: {
    retry: 'after-change',
    message:
      'Talos images are made for sectors of 512 bytes. Format the disk to those, or choose another one in rootDisk of the Host.',
  },
  RESCUE_WIPE_INCOMPLETE: { retry: 'backoff', message: 'A disk was erased, and something is found on it still.' },
  RESCUE_IMAGE_UNREACHABLE: {
    retry: 'backoff',
    message: 'The rescue system could not fetch the image. Check that servers reach talos.factoryUrl.',
  },
  RESCUE_IMAGE_TRUNCATED: { retry: 'backoff', message: 'The image ended too early on its way.' },
  RESCUE_IMAGE_WRONG: {
    retry: 'after-change',
    message: 'What was fetched is not the image that it should be. Check hetznerRobot.image and talos.factoryUrl.',
  },
  RESCUE_WRITE_DIFFERS: {
    retry: 'after-change',
    message: 'A disk does not hold what was written to it. Have it replaced.',
  },
  RESCUE_BOOT_ORDER_REFUSED: {
    retry: 'after-change',
    message: 'The firmware of the server does not keep the network first in its boot order.',
  },
} as const satisfies Record<string, ErrorCodeInfo>;

export type HetznerRobotErrorCode = keyof typeof robotErrorCodes | ErrorCode;

/** A failure with a code of Hetzner Robot and the rescue system of its servers, or a shared one. */
export const HetznerRobotError = definePlatformErrors(robotErrorCodes);
