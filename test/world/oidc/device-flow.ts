import { parseScopes } from './authorization-endpoint.ts';
import type { LoginGrant } from './grants.ts';
import { OAuthError, type OidcResponse, optionalParameter, requiredParameter } from './http-response.ts';
import { type Issuer, secondsFromNow } from './issuer.ts';
import type { OidcClient } from './seed.ts';

/**
 * `POST /device/code`: a device code for a device without a browser, and a user code to type elsewhere (RFC 8628, 3.2).
 */
export function startDeviceLogin(issuer: Issuer, client: OidcClient, form: URLSearchParams): OidcResponse {
  const { deviceSeconds, pollSeconds } = issuer.seed;
  const until = secondsFromNow(issuer, deviceSeconds);
  const asked = { client: client.id, scopes: parseScopes(optionalParameter(form, 'scope')), until };
  const { device, deviceCode } = issuer.grants.addDevice(asked);
  const page = `${issuer.url}/device`;
  return {
    status: 200,
    headers: { 'cache-control': 'no-store' },
    body: {
      device_code: deviceCode,
      user_code: device.userCode,
      verification_uri: page,
      verification_uri_complete: `${page}?user_code=${device.userCode}`,
      expires_in: deviceSeconds,
      interval: pollSeconds,
    },
  };
}

/** `GET /device`: the current user types the code and consents. */
export function approveDeviceLogin(issuer: Issuer, query: URLSearchParams): OidcResponse {
  const device = issuer.grants.findDeviceByUser(requiredParameter(query, 'user_code'));
  if (!device || device.until <= issuer.now()) throw new OAuthError('invalid_request', 'no device shows this code');
  const person = issuer.people.present;
  if (!person) throw new OAuthError('access_denied', 'nobody is there who would log in', 403);
  device.login = { person, client: device.client, scopes: device.scopes, at: issuer.now() };
  return { status: 200, body: { message: 'You can go back to your device.' } };
}

/** The answer to a device that polls (RFC 8628, 3.5). */
export function redeemDeviceCode(issuer: Issuer, client: OidcClient, form: URLSearchParams): LoginGrant {
  const deviceCode = requiredParameter(form, 'device_code');
  const device = issuer.grants.findDevice(deviceCode);
  const now = issuer.now();
  if (!device || device.client !== client.id) throw new OAuthError('invalid_grant', 'there is no such device');
  if (device.until <= now) throw new OAuthError('expired_token', 'nobody has typed the code in time');
  const isHasty =
    device.askedAt !== undefined && now.getTime() - device.askedAt.getTime() < issuer.seed.pollSeconds * 1000;
  device.askedAt = now;
  if (isHasty) throw new OAuthError('slow_down', 'this was asked a moment ago');
  if (!device.login) throw new OAuthError('authorization_pending', 'nobody has typed the code yet');
  issuer.grants.dropDevice(deviceCode);
  return device.login;
}
