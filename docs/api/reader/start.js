'use strict';
// Shows openapi.json; asks nobody but the server that it comes from.
SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#reader',
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  docExpansion: 'list',
  tryItOutEnabled: false,
  validatorUrl: null,
});
