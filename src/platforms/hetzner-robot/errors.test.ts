import { describe, expect, it, test } from 'vitest';
import type { ProviderError } from '../../lib/errors.ts';
import { HetznerRobotError, type HetznerRobotErrorCode } from './error-codes.ts';
import { NoResponseError, RobotApiError, toRobotError } from './errors.ts';

const errorFor = (status: number, error: unknown, headers = {}): ProviderError =>
  toRobotError(new RobotApiError({ status, headers }, { error }), 'GET /x') as ProviderError;

/** Every code that the documentation or a client names, with the expected error code. */
const known: readonly [number, string, HetznerRobotErrorCode][] = [
  [400, 'INVALID_INPUT', 'ROBOT_REFUSED'],
  [401, 'UNAUTHORIZED', 'ROBOT_CREDENTIALS_REFUSED'],
  [403, 'RATE_LIMIT_EXCEEDED', 'ROBOT_RATE_LIMITED'],
  [404, 'NOT_FOUND', 'ROBOT_NOT_FOUND'],
  [409, 'CONFLICT', 'ROBOT_CONFLICT'],
  [500, 'INTERNAL_ERROR', 'ROBOT_CALL_FAILED'],
  [404, 'SERVER_NOT_FOUND', 'ROBOT_SERVER_UNKNOWN'],
  [409, 'SERVER_CANCELLATION_RESERVE_LOCATION_FALSE_ONLY', 'ROBOT_REFUSED'],
  ...['IP', 'SUBNET', 'MAC', 'RDNS', 'FIREWALL_PORT', 'FIREWALL_TEMPLATE', 'FAILOVER_NEW_SERVER'].map(
    (name): [number, string, HetznerRobotErrorCode] => [404, `${name}_NOT_FOUND`, 'ROBOT_NOT_FOUND'],
  ),
  ...['MAC', 'RESET', 'WOL', 'BOOT', 'FIREWALL', 'VSWITCH'].map((name): [number, string, HetznerRobotErrorCode] => [
    404,
    `${name}_NOT_AVAILABLE`,
    'ROBOT_NOT_AVAILABLE',
  ]),
  ...['WINDOWS', 'PLESK', 'CPANEL'].map((name): [number, string, HetznerRobotErrorCode] => [
    404,
    `${name}_MISSING_ADDON`,
    'ROBOT_NOT_AVAILABLE',
  ]),
  [404, 'WINDOWS_OUTDATED_VERSION', 'ROBOT_NOT_AVAILABLE'],
  ...[
    ...['MAC', 'TRAFFIC_WARNING_UPDATE', 'RESET', 'WOL', 'BOOT_ACTIVATION', 'BOOT_DEACTIVATION', 'KEY_CREATE'],
    ...['KEY_UPDATE', 'KEY_DELETE', 'RDNS_CREATE', 'RDNS_UPDATE', 'RDNS_DELETE', 'FAILOVER'],
  ].map((name): [number, string, HetznerRobotErrorCode] => [500, `${name}_FAILED`, 'ROBOT_CALL_FAILED']),
  [500, 'FAILOVER_NOT_COMPLETE', 'ROBOT_CALL_FAILED'],
  [409, 'MAC_ALREADY_SET', 'ROBOT_CONFLICT'],
  [409, 'RESET_MANUAL_ACTIVE', 'ROBOT_RESET_MANUAL_ACTIVE'],
  [409, 'BOOT_ALREADY_ENABLED', 'ROBOT_BOOT_ALREADY_ACTIVE'],
  [409, 'BOOT_BLOCKED', 'ROBOT_IN_PROCESS'],
  [409, 'KEY_ALREADY_EXISTS', 'ROBOT_CONFLICT'],
  [409, 'RDNS_ALREADY_EXISTS', 'ROBOT_CONFLICT'],
  [409, 'FAILOVER_ALREADY_ROUTED', 'ROBOT_CONFLICT'],
  [409, 'FAILOVER_LOCKED', 'ROBOT_IN_PROCESS'],
  [409, 'FIREWALL_IN_PROCESS', 'ROBOT_IN_PROCESS'],
  [409, 'FIREWALL_RULE_LIMIT_EXCEEDED', 'ROBOT_LIMIT_REACHED'],
  [409, 'FIREWALL_CANNOT_BE_DISABLED', 'ROBOT_CONFLICT'],
  [409, 'VSWITCH_IN_PROCESS', 'ROBOT_IN_PROCESS'],
  [409, 'VSWITCH_VLAN_NOT_UNIQUE', 'ROBOT_CONFLICT'],
  [409, 'VSWITCH_LIMIT_REACHED', 'ROBOT_LIMIT_REACHED'],
  [409, 'VSWITCH_SERVER_LIMIT_REACHED', 'ROBOT_LIMIT_REACHED'],
  [409, 'VSWITCH_PER_SERVER_LIMIT_REACHED', 'ROBOT_LIMIT_REACHED'],
];

describe('an error answer', () => {
  it.each(known)('%i %s is %s', (status, code, expected) => {
    expect(errorFor(status, { status, code, message: 'so it is' }).code).toBe(expected);
  });

  it.each<[number, HetznerRobotErrorCode]>([
    [302, 'ROBOT_REPLY_UNKNOWN'],
    [400, 'ROBOT_REFUSED'],
    [401, 'ROBOT_CREDENTIALS_REFUSED'],
    [403, 'ROBOT_RATE_LIMITED'],
    [404, 'ROBOT_REFUSED'],
    [429, 'ROBOT_RATE_LIMITED'],
    [500, 'ROBOT_CALL_FAILED'],
    [502, 'ROBOT_UNAVAILABLE'],
    [503, 'ROBOT_UNAVAILABLE'],
    [504, 'ROBOT_UNAVAILABLE'],
  ])('without a body, or with an unknown code, is mapped by its status: %i', (status, expected) => {
    expect(errorFor(status, undefined).code).toBe(expected);
    const unknown = errorFor(status, { code: 'SOMETHING_NEW', message: '' }).code;
    expect(unknown).toBe({ 403: 'ROBOT_FORBIDDEN', 429: 'ROBOT_REFUSED' }[status] ?? expected);
  });

  it('B6: is retried, or needs a person, by its kind', () => {
    const retryOf = (code: HetznerRobotErrorCode): string => new HetznerRobotError(code).retry;
    const person = known.filter(([, , code]) => retryOf(code) === 'after-change').map(([, item]) => item);
    for (const item of ['SERVER_NOT_FOUND', 'RESET_NOT_AVAILABLE', 'BOOT_NOT_AVAILABLE', 'RESET_MANUAL_ACTIVE']) {
      expect(person).toContain(item);
    }
    expect(person).toContain('INVALID_INPUT');
    for (const item of ['VSWITCH_IN_PROCESS', 'FAILOVER_LOCKED', 'RESET_FAILED', 'BOOT_ACTIVATION_FAILED']) {
      expect(person).not.toContain(item);
    }
  });

  it('is described on one line', () => {
    const error = errorFor(400, {
      code: 'INVALID_INPUT',
      message: 'invalid\n input',
      missing: ['os'],
      invalid: ['a', 1],
    });
    expect(error.message).toBe(
      'Hetzner Robot rejected a value. GET /x: INVALID_INPUT: invalid input: missing os: invalid a.',
    );
  });

  it.each([undefined, null, 7, 'text', [], { code: 1, message: {}, missing: 'x', interval: 'soon' }])(
    'in an unknown shape (%j) is an error answer, too',
    (error) => {
      expect(errorFor(409, error).message).toMatch(/GET \/x: HTTP 409\.$/);
    },
  );
});

test.each<[NoResponseError['kind'], string, HetznerRobotErrorCode]>([
  ['not-sent', 'POST /x', 'ROBOT_UNREACHABLE'],
  ['untrusted', 'POST /x', 'ROBOT_TLS_UNTRUSTED'],
  ['late', 'POST /x', 'DEADLINE_EXCEEDED'],
  ['lost', 'POST /x', 'ROBOT_OUTCOME_UNKNOWN'],
  ['lost', 'GET /x', 'ROBOT_UNREACHABLE'],
])('no answer (%s) to %s is %s', (kind, call, expected) => {
  const cause = new Error('socket');
  expect(toRobotError(new NoResponseError(kind, cause), call)).toMatchObject({ code: expected, cause: { cause } });
});

test('other errors are returned unchanged', () => {
  const reason = new Error('shutting down');
  expect(toRobotError(reason, 'GET /x')).toBe(reason);
});
