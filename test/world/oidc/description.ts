import type { SimulatorDescription } from '../simulator.ts';

export const oidcDescription: SimulatorDescription = {
  name: 'oidc',
  about:
    'An OIDC issuer: logins with a code (PKCE), keys that rotate, and tokens for anyone (POST to credentials.tokens)',
};
